// runtime/emulator/ptx/Lexer.h - tokens of PTX text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fovea::ptx {

/// A modifier is a dotted word with its `::` parts (`.shared::cta`, `.128x256b`, `.x`); `text` keeps the dot.
enum class TokenKind : uint8_t { End, Word, Modifier, Integer, Float32, Float64, String, Punct };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  int line = 1;
  bool glued = false;    ///< no white space before it
  bool lineStart = false;
  uint64_t integer = 0;  ///< Integer: value; Float32/Float64: bit pattern
  bool isPunct(char c) const { return kind == TokenKind::Punct && text[0] == c; }
  bool isModifier(std::string_view t) const { return kind == TokenKind::Modifier && text == t; }
  bool isWord(std::string_view t) const { return kind == TokenKind::Word && text == t; }
};

/// Reads tokens from a text that must outlive them. Throws LoadError for a byte that starts no token.
class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  Token next();
  /// The source line (1-based), trimmed and shortened for a message.
  std::string lineText(int line) const;
  /// Skips to the brace that closes the one just read; used for debug sections.
  void skipBraces(int openLine);

private:
  std::string_view text;
  size_t at = 0;
  int line = 1;
  bool skipSpace();
  Token number(Token t);
};

} // namespace fovea::ptx
