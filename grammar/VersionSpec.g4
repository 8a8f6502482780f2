// Version specifiers as in PEP 440: comparisons joined by commas. Whether a version is one is
// checked afterwards; `===` takes any text.
grammar VersionSpec;

specifiers : comparison (COMMA+ comparison)* COMMA* EOF ;
comparison : OPERATOR version ;
version : VERSION ;

OPERATOR : '===' | '==' | '~=' | '!=' | '<=' | '>=' | '<' | '>' ;
COMMA : ',' ;
VERSION : [A-Za-z0-9] [A-Za-z0-9._+*-]* ('!' [A-Za-z0-9._+*-]+)? ;
SPACE : [ \t]+ -> skip ;
OTHER : . ;
