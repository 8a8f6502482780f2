// A device, with or without bounds on its capability: cuda>=8.0,<9.0
grammar DeviceSelector;

selector : device (bound (COMMA bound)*)? EOF ;
device : WORD ;
bound : OPERATOR capability ;
capability : WORD | NUMBER ;

// The last three are read so that they can be named in an error.
OPERATOR : '>=' | '<=' | '==' | '<' | '>' | '!=' | '~=' | '=' ;
COMMA : ',' ;
WORD : [A-Za-z] [A-Za-z0-9_]* ;
NUMBER : [0-9]+ ('.' [0-9]+)* ;
SPACE : [ \t]+ -> skip ;
OTHER : . ;
