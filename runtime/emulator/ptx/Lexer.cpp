// runtime/emulator/ptx/Lexer.cpp - tokens of PTX text.
#include "runtime/emulator/ptx/Lexer.h"
#include "runtime/emulator/ptx/Error.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fovea::ptx {

static bool wordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
static bool digit(char c) { return c >= '0' && c <= '9'; }
static bool wordPart(char c) { return wordStart(c) || digit(c); }

std::string Lexer::lineText(int wanted) const {
  size_t begin = 0;
  for (int l = 1; l < wanted; ++l) {
    size_t end = text.find('\n', begin);
    if (end == std::string_view::npos)
      return "";
    begin = end + 1;
  }
  std::string_view s = text.substr(begin, text.find('\n', begin) - begin);
  while (!s.empty() && (s[0] == ' ' || s[0] == '\t'))
    s.remove_prefix(1);
  std::string out;
  for (char c : s.substr(0, 160))
    out += (static_cast<unsigned char>(c) >= 32 || c == '\t') ? c : '?';
  return s.size() > 160 ? out + " ..." : out;
}

bool Lexer::skipSpace() {
  bool newLine = at == 0;
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n') {
      ++line;
      newLine = true;
      ++at;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
      // A trailing NUL is common: hosts hand over C strings with their terminator.
      if (c == '\0') {
        if (text.find_first_not_of('\0', at) != std::string_view::npos)
          throw LoadError(line, "a NUL byte inside the text: this is not PTX source", "");
        at = text.size();
        break;
      }
      ++at;
    } else if ((c == '/' || c == '@') && at + 1 < text.size() && text[at + 1] == c) {
      // `@@` opens very old debug markers: a comment to everybody today.
      while (at < text.size() && text[at] != '\n')
        ++at;
    } else if (c == '/' && at + 1 < text.size() && text[at + 1] == '*') {
      int open = line;
      at += 2;
      for (;; ++at) {
        if (at + 1 >= text.size())
          throw LoadError(open, "comment is not closed", "");
        if (text[at] == '\n')
          ++line;
        if (text[at] == '*' && text[at + 1] == '/')
          break;
      }
      at += 2;
    } else {
      break;
    }
  }
  return newLine;
}

Token Lexer::number(Token t) {
  size_t begin = at;
  auto finish = [&](TokenKind kind) {
    t.kind = kind;
    t.text = text.substr(begin, at - begin);
    if (at < text.size() && wordPart(text[at]))
      throw LoadError(line, "malformed number", lineText(line));
    return t;
  };
  auto radix = [&](int base, size_t maxDigits) {
    size_t first = at;
    uint64_t v = 0;
    for (; at < text.size(); ++at) {
      char c = text[at];
      int d = digit(c) ? c - '0' : (c >= 'a' && c <= 'f') ? c - 'a' + 10 : (c >= 'A' && c <= 'F') ? c - 'A' + 10 : 99;
      if (d >= base)
        break;
      if (v > (~uint64_t(0) - d) / base)
        throw LoadError(line, "integer does not fit in 64 bits", lineText(line));
      v = v * base + d;
    }
    if (at == first || at - first > maxDigits)
      throw LoadError(line, "malformed number", lineText(line));
    return v;
  };
  if (text[at] == '0' && at + 1 < text.size()) {
    char c = text[at + 1];
    if (c == 'f' || c == 'F' || c == 'd' || c == 'D') {
      size_t want = (c == 'f' || c == 'F') ? 8 : 16;
      at += 2;
      size_t first = at;
      t.integer = radix(16, want);
      if (at - first != want)
        throw LoadError(line, "a hexadecimal float needs " + std::to_string(want) + " digits", lineText(line));
      return finish(want == 8 ? TokenKind::Float32 : TokenKind::Float64);
    }
    if (c == 'x' || c == 'X' || c == 'b' || c == 'B') {
      at += 2;
      t.integer = radix(c == 'x' || c == 'X' ? 16 : 2, 64);
      if (at < text.size() && text[at] == 'U')
        ++at;
      return finish(TokenKind::Integer);
    }
  }
  size_t end = at;
  while (end < text.size() && digit(text[end]))
    ++end;
  bool real = false;
  if (end + 1 < text.size() && text[end] == '.' && digit(text[end + 1])) {
    real = true;
    for (++end; end < text.size() && digit(text[end]);)
      ++end;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t e = end + 1;
    if (e < text.size() && (text[e] == '+' || text[e] == '-'))
      ++e;
    if (e < text.size() && digit(text[e])) {
      real = true;
      while (e < text.size() && digit(text[e]))
        ++e;
      end = e;
    }
  }
  if (real) {
    double d = std::strtod(std::string(text.substr(at, end - at)).c_str(), nullptr);
    std::memcpy(&t.integer, &d, 8);
    at = end;
    return finish(TokenKind::Float64);
  }
  t.integer = radix(text[at] == '0' && end > at + 1 ? 8 : 10, 64);
  if (at < text.size() && text[at] == 'U')
    ++at;
  return finish(TokenKind::Integer);
}

Token Lexer::next() {
  size_t before = at;
  Token t;
  t.lineStart = skipSpace();
  t.glued = at == before && at != 0;
  t.line = line;
  if (at >= text.size())
    return t;
  char c = text[at];
  if (digit(c))
    return number(t);
  size_t begin = at;
  if (wordStart(c)) {
    while (at < text.size() && wordPart(text[at]))
      ++at;
    t.kind = TokenKind::Word;
  } else if (c == '.' && at + 1 < text.size() && wordPart(text[at + 1])) {
    ++at;
    for (;;) {
      while (at < text.size() && wordPart(text[at]))
        ++at;
      if (text.substr(at, 2) == "::" && at + 2 < text.size() && wordPart(text[at + 2]))
        at += 2;
      else
        break;
    }
    t.kind = TokenKind::Modifier;
  } else if (c == '"') {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      if (text[at] == '\\')
        ++at;
    if (at >= text.size() || text[at] != '"')
      throw LoadError(line, "string is not closed", lineText(line));
    ++at;
    t.kind = TokenKind::String;
  } else if (std::strchr("{}[]();:,+-*/|@!<>=~^&?", c)) {
    ++at;
    t.kind = TokenKind::Punct;
  } else {
    char hex[8];
    std::snprintf(hex, sizeof hex, "0x%02x", static_cast<unsigned char>(c));
    throw LoadError(line, std::string("unexpected byte ") + hex + ": not PTX text", lineText(line));
  }
  t.text = text.substr(begin, at - begin);
  return t;
}

void Lexer::skipBraces(int openLine) {
  for (int depth = 1; depth;) {
    Token t = next();
    if (t.kind == TokenKind::End)
      throw LoadError(openLine, "'{' is not closed", "");
    depth += t.isPunct('{') ? 1 : t.isPunct('}') ? -1 : 0;
  }
}

} // namespace fovea::ptx
