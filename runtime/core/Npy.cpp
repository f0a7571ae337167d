// runtime/core/Npy.cpp - the .npy header is a Python dictionary literal; this reads the three keys it always has.
#include "runtime/core/Npy.h"
#include "runtime/core/File.h"

#include <cctype>

namespace fovea {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

/// A cursor over the header text "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }".
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;

  bool parse() {
    if (!eat('{'))
      return false;
    while (!eat('}')) {
      std::string key;
      if (!quoted(key) || !eat(':') || !value(key))
        return false;
      eat(',');
    }
    skip();
    return at == text.size() && seen == 7;
  }

private:
  std::string_view text;
  size_t at = 0;
  int seen = 0; // one bit per key

  void skip() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool eat(char c) {
    skip();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool quoted(std::string &out) {
    skip();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
      return false;
    size_t end = text.find(text[at], at + 1);
    if (end == std::string_view::npos)
      return false;
    out = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool word(std::string_view w) {
    skip();
    if (text.substr(at, w.size()) != w)
      return false;
    at += w.size();
    return true;
  }
  bool value(const std::string &key) {
    if (key == "descr")
      return seen |= 1, quoted(descr);
    if (key == "fortran_order") {
      seen |= 2;
      fortran = word("True");
      return fortran || word("False");
    }
    return key == "shape" && tuple();
  }
  bool tuple() {
    seen |= 4;
    if (!eat('('))
      return false;
    while (!eat(')')) {
      skip();
      int64_t extent = 0;
      size_t begin = at;
      for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
        if (__builtin_mul_overflow(extent, int64_t(10), &extent) ||
            __builtin_add_overflow(extent, int64_t(text[at] - '0'), &extent))
          return false;
      if (at == begin || shape.size() == 32) // NumPy's own limit
        return false;
      shape.push_back(extent);
      eat(',');
    }
    return true;
  }
};

} // namespace

const char *npyDescr(DType type) {
  switch (type) {
  case DType::F16:
    return "<f2";
  case DType::F32:
    return "<f4";
  case DType::F64:
    return "<f8";
  case DType::I32:
    return "<i4";
  case DType::U32:
    return "<u4";
  case DType::I64:
    return "<i8";
  case DType::BF16:
  case DType::U16:
    return "<u2";
  case DType::E4M3:
  case DType::E5M2:
  case DType::UE8M0:
  case DType::U8:
    return "|u1";
  }
  return "";
}

Expected<NpyArray> parseNpy(std::string_view file, DType wanted, const std::string &origin) {
  auto refuse = [&](const std::string &text) { return Error{origin + ": " + text}; };
  auto byte = [&](size_t i) { return static_cast<unsigned char>(file[i]); };
  if (file.substr(0, 4) == std::string_view("PK\3\4", 4))
    return refuse("an archive of several arrays (.npz); save each with numpy.save and pass one .npy file for each tensor");
  if (file.size() < 10 || file.substr(0, 6) != kMagic)
    return refuse("not a .npy file (its first bytes are not those that numpy.save writes)");
  int version = byte(6);
  if (version < 1 || version > 2)
    return refuse("a .npy file of version " + std::to_string(version) + "; versions 1 and 2 are read");
  size_t start = version == 1 ? 10 : 12;
  if (file.size() < start)
    return refuse("the file ends inside its header");
  size_t length = byte(8) | size_t(byte(9)) << 8;
  if (version == 2)
    length |= size_t(byte(10)) << 16 | size_t(byte(11)) << 24;
  if (file.size() - start < length)
    return refuse("the file ends inside its header");
  HeaderParser header(file.substr(start, length));
  if (!header.parse())
    return refuse("the .npy header cannot be read; write the file with numpy.save");
  if (header.descr != npyDescr(wanted)) {
    std::string note = wanted == DType::BF16 ? " (numpy has no bf16: pass its bits as uint16)"
                       : dtypeBytes(wanted) == 1 ? " (numpy has no fp8: pass its bits as uint8)"
                                                 : "";
    return refuse("the elements must be " + std::string(dtypeName(wanted)) + ", that is '" + npyDescr(wanted) + "'" +
                  note + ", found '" + header.descr + "'");
  }
  if (header.fortran && header.shape.size() > 1)
    return refuse("the array is in Fortran order; save numpy.ascontiguousarray(x) instead");
  int64_t bytes = dtypeBytes(wanted);
  for (int64_t extent : header.shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return refuse("the shape is too large");
  size_t found = file.size() - start - length;
  if (uint64_t(bytes) != found)
    return refuse("the shape needs " + std::to_string(bytes) + " bytes of data, the file has " +
                  std::to_string(found));
  return NpyArray{wanted, header.shape, std::string(file.substr(start + length))};
}

Expected<NpyArray> readNpy(const std::string &path, DType wanted) {
  Expected<std::string> file = readFile(path);
  if (!file)
    return file.error();
  return parseNpy(*file, wanted, path);
}

std::string formatNpy(const NpyArray &array) {
  std::string shape;
  for (int64_t extent : array.shape)
    shape += std::to_string(extent) + ", ";
  if (array.shape.size() > 1)
    shape.resize(shape.size() - 2);
  else if (!shape.empty())
    shape.resize(shape.size() - 1); // (3,)
  std::string header =
      std::string("{'descr': '") + npyDescr(array.dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The data starts at a multiple of 64 bytes.
  size_t version = header.size() + 11 > 65000 ? 2 : 1, prefix = version == 1 ? 10 : 12;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string file(kMagic);
  file += char(version);
  file += '\0';
  for (size_t i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += char(header.size() >> (8 * i) & 0xff);
  return file + header + array.bytes;
}

Expected<void> writeNpy(const std::string &path, const NpyArray &array) {
  return writeFileAtomically(path, formatNpy(array));
}

} // namespace fovea
