// A mode: one or more words joined by bars.
grammar Mode;

mode_ : word (BAR word)* EOF ;
word : WORD ;

BAR : '|' ;
WORD : [A-Za-z0-9_]+ ;
SPACE : [ \t]+ -> skip ;
OTHER : . ;
