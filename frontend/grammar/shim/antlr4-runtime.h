// frontend/grammar/shim/antlr4-runtime.h - the part of the ANTLR runtime that generated parsers need
//
// Stands in for the runtime's header of the same name, whose InterpreterDataReader.h clang 14 refuses: it default
// constructs a class with const members that have no initialiser (CWG 253). The generated code does not need it.
#pragma once

#include <antlr4-common.h>
#include <ANTLRInputStream.h>
#include <BufferedTokenStream.h>
#include <CharStream.h>
#include <CommonToken.h>
#include <CommonTokenStream.h>
#include <DefaultErrorStrategy.h>
#include <Exceptions.h>
#include <FailedPredicateException.h>
#include <InputMismatchException.h>
#include <Lexer.h>
#include <LexerNoViableAltException.h>
#include <NoViableAltException.h>
#include <Parser.h>
#include <ParserRuleContext.h>
#include <RecognitionException.h>
#include <Token.h>
#include <Vocabulary.h>
#include <atn/ATN.h>
#include <atn/ATNDeserializer.h>
#include <atn/LexerATNSimulator.h>
#include <atn/ParserATNSimulator.h>
#include <dfa/DFA.h>
#include <misc/IntervalSet.h>
#include <support/Any.h>
#include <support/CPPUtils.h>
#include <support/StringUtils.h>
#include <tree/TerminalNode.h>
