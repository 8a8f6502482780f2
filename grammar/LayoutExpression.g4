// How a kernel's parameter comes from the parameters of the modules it stands for:
// concat(mlp.gate_proj.weight, mlp.up_proj.weight, dim=0), chunk(w, 2, dim=0)[1], norm.weight + 1
grammar LayoutExpression;

layout : sum EOF ;
sum : product (addition product)* ;
addition : PLUS | MINUS ;
product : operand (multiplication operand)* ;
multiplication : TIMES | OVER ;
operand : call index? | path | number | OPEN sum CLOSE ;
call : function OPEN argument (COMMA argument)* CLOSE ;
function : NAME ;
argument : keyword EQUALS number | sum ;
keyword : NAME ;
index : OPEN_INDEX number CLOSE_INDEX ;
path : NAME (DOT (NAME | NUMBER))* ;
number : MINUS? NUMBER ;

PLUS : '+' ;
MINUS : '-' ;
TIMES : '*' ;
OVER : '/' ;
OPEN : '(' ;
CLOSE : ')' ;
OPEN_INDEX : '[' ;
CLOSE_INDEX : ']' ;
COMMA : ',' ;
EQUALS : '=' ;
DOT : '.' ;
NAME : [A-Za-z_] [A-Za-z0-9_]* ;
NUMBER : [0-9]+ ('.' [0-9]+)? ;
SPACE : [ \t\r\n]+ -> skip ;
OTHER : . ;
