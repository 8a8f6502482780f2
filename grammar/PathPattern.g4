// A pattern for module paths. A star ends its segment and stands for the rest of it.
grammar PathPattern;

pattern : segment (DOT segment)* EOF ;
segment : NAME STAR? | STAR ;

DOT : '.' ;
STAR : '*' ;
NAME : ~[.*]+ ;
