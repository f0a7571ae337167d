// frontend/grammar/Attn.g4 - the grammar of the spec language (*.attn)
//
// A spec is a list of `name : value` lines between braces. The grammar knows the shape of a line and of an
// expression, and nothing else: which names exist, and what each may hold, is said in frontend/sema. So a
// misspelt word is a semantic error with a suggestion, and never a syntax error somewhere behind it.
// Newlines mean nothing: a line ends where the next `name :` begins.
grammar Attn;

file : attention* EOF ;

attention : 'attention' IDENT '{' clause* '}' ;

clause
  : names ':' values origin?              # field       // q, k, v : bf16 [batch, seq, 8 heads, 128]
  | 'schedule' IDENT '{' entry* '}'       # schedule    // schedule sm_100a { roles : fused }
  ;

names  : IDENT (',' IDENT)* ;
values : expr (',' expr)* ;
origin : '=' expr ;

// The knobs of a schedule: a number, a word, a list, or one value per role.
entry   : IDENT ':' setting ','? ;
setting : expr
        | '[' expr (',' expr)* ']'
        | '{' pair (',' pair)* '}'
        ;
pair    : IDENT ':' expr ;

// The tightest operator comes first.
expr
  : IDENT '(' (arg (',' arg)*)? ')'                  # call
  | IDENT '[' arg (',' arg)* ']'                     # index
  | '(' expr ')'                                     # parens
  | (IDENT | INT | FLOAT)                            # atom
  | '-' expr                                         # negate
  | expr op=('*' | '/' | '%') expr                   # binary
  | expr op=('+' | '-') expr                         # binary
  | expr op=('<' | '<=' | '>' | '>=' | '==' | '!=') expr   # binary
  | 'not' expr                                       # not
  | expr op=('and' | '&') expr                       # binary
  | expr op=('or' | '|') expr                        # binary
  ;

// Between brackets two words side by side are one phrase: `4 heads`, `jagged offsets`, `packed dz`.
arg : (IDENT | INT) (IDENT | INT)                    # phrase
    | expr                                           # plain
    ;

IDENT   : [a-zA-Z_] [a-zA-Z_0-9]* ;
INT     : [0-9]+ ;
FLOAT   : [0-9]+ '.' [0-9]* EXPONENT? | '.' [0-9]+ EXPONENT? | [0-9]+ EXPONENT ;
fragment EXPONENT : [eE] [+-]? [0-9]+ ;
COMMENT : '//' ~[\r\n]* -> channel(HIDDEN) ;
SPACE   : [ \t\r\n]+ -> skip ;
UNKNOWN : . ;
