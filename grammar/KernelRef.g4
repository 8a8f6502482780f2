// A kernel reference. Which of the three it is shows at its start, so each has an entry rule.
grammar KernelRef;

// org/repo, org/repo@revision, either with :Name
hubRef : owner SLASH repo (AT revision)? (COLON symbol)? EOF ;
owner : WORD ;
repo : WORD ;
revision : (WORD | SLASH | AT | OTHER)+ ;

// /abs/path:Name, /abs/path. The last colon after the last slash splits; an @ is part of the path.
localRef : path COLON symbol EOF | barePath EOF ;
path : folder part+ ;
barePath : folder plain+ ;
folder : SLASH (part* SLASH)* ;
part : plain | COLON ;
plain : WORD | AT | OTHER ;

// builtin:Name
builtinRef : WORD COLON symbol EOF ;

symbol : WORD ;

SLASH : '/' ;
COLON : ':' ;
AT : '@' ;
WORD : [A-Za-z0-9._-]+ ;
OTHER : . ;
