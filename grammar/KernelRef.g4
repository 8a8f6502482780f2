// A kernel reference. Which of the three it is shows at its start, so each has an entry rule.
grammar KernelRef;

// org/repo, org/repo@revision, either with :Name
hubRef : owner SLASH repo (AT revision)? (COLON symbol)? EOF ;
owner : WORD ;
repo : WORD ;
revision : (WORD | SLASH | AT | OTHER)+ ;

// /abs/path:Name. The last colon after the last slash splits; an @ is part of the path.
localRef : path (COLON symbol)? EOF ;
path : SLASH (part* SLASH)* leaf ;
part : WORD | COLON | AT | OTHER ;
leaf : part+ ;

// builtin:Name
builtinRef : WORD COLON symbol EOF ;

symbol : WORD ;

SLASH : '/' ;
COLON : ':' ;
AT : '@' ;
WORD : [A-Za-z0-9._-]+ ;
OTHER : . ;
