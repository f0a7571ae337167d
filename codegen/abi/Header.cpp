// codegen/abi/Header.cpp - the typed C++ header of a compiled spec.
#include "codegen/abi/Header.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fovea;
using llvm::formatv;

namespace {
const char *elementType(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return "::fovea::bf16";
  case DType::F16:
    return "::fovea::f16";
  case DType::F32:
    return "float";
  case DType::I32:
    return "int32_t";
  default:
    return "int64_t";
  }
}

// The attention's name as a namespace; a keyword of C++ gets an underscore.
std::string namespaceOf(const std::string &spec) {
  static const llvm::StringSet<> keywords = {
      "alignas", "and",     "asm",    "auto",      "bool",     "break",    "case",   "catch",  "char",   "class",
      "const",   "continue", "default", "delete",   "do",       "double",   "else",   "enum",   "explicit", "export",
      "extern",  "false",   "float",  "for",       "friend",   "goto",     "if",     "inline", "int",    "long",
      "mutable", "namespace", "new",  "noexcept",  "not",      "operator", "or",     "private", "protected", "public",
      "register", "return", "short",  "signed",    "sizeof",   "static",   "struct", "switch", "template", "this",
      "throw",   "true",    "try",    "typedef",   "typename", "union",    "unsigned", "using", "virtual", "void",
      "volatile", "while",  "xor"};
  return keywords.contains(spec) ? spec + "_" : spec;
}

std::string shapeText(const TensorSpec &tensor) {
  std::vector<std::string> dims;
  for (const Expr &e : tensor.shape)
    dims.push_back(e.text());
  return "[" + llvm::join(dims, ", ") + "]";
}
} // namespace

std::string fovea::codegen::typedHeader(const Manifest &manifest, const std::string &manifestFile) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << formatv("// {0} for {1}, written by `fovea compile`. Shapes in elements; device memory throughout.\n"
                "//   auto module = fovea::Module::load(device, DIRECTORY + std::string(\"/\") + "
                "fovea::kernels::{0}::manifest);\n"
                "//   fovea::kernels::{0}::launch(*module, {{q, k, v, ...}, stream);\n"
                "#pragma once\n\n"
                "#include \"runtime/core/DeviceArray.h\"\n#include \"runtime/core/Module.h\"\n\n"
                "namespace fovea::kernels::{0} {{\n\n"
                "inline constexpr const char *manifest = \"{2}\";\n",
                namespaceOf(manifest.spec), manifest.target, manifestFile);
  llvm::StringSet<> done;
  for (const KernelSpec &kernel : manifest.kernels) {
    if (!done.insert(kernel.name).second)
      continue;
    std::string type = kernel.name;
    type[0] = llvm::toUpper(type[0]);
    std::set<std::string> used = usedTensors(manifest, kernel.name);
    os << "\nstruct " << type << " {\n";
    std::string pushes;
    // What may be left out comes last.
    std::vector<TensorSpec> tensors = manifest.tensors;
    llvm::stable_sort(tensors, [](const TensorSpec &x, const TensorSpec &y) { return x.optional < y.optional; });
    for (const TensorSpec &tensor : tensors) {
      if (!used.count(tensor.name))
        continue;
      bool offsets = tensor.role == TensorSpec::Role::Offsets;
      std::string note = offsets                                    ? "row r of sequence b: offsets[b] <= r < offsets[b + 1]"
                         : tensor.role == TensorSpec::Role::Output ? "output"
                                                                    : "input";
      note += " " + shapeText(tensor);
      if (tensor.strideMultipleBytes > 1)
        note += formatv(", strides and address multiples of {0} bytes, innermost stride 1", tensor.strideMultipleBytes);
      if (tensor.optional)
        note += ", optional: leave it empty";
      if (offsets)
        os << formatv("  ::fovea::OffsetsArray {0}; ///< {1}\n", tensor.name, note);
      else
        os << formatv("  ::fovea::DeviceArray<{0}, {1}> {2}; ///< {3}\n", elementType(tensor.dtypes.front()),
                      tensor.shape.size(), tensor.name, note);
      if (tensor.optional)
        pushes += formatv("    if ({0}.data)\n      list.push_back({0}.named(\"{0}\"));\n", tensor.name);
      else
        pushes += formatv("    list.push_back({0}.named(\"{0}\"));\n", tensor.name);
    }
    os << "\n  ::std::vector<::fovea::Tensor> tensors() const {\n    ::std::vector<::fovea::Tensor> list;\n" << pushes
       << "    return list;\n  }\n};\n\n"
       << formatv("/// Checks the arguments and packs them once; the memory must live as long as the result is launched.\n"
                  "inline ::fovea::Expected<::fovea::PreparedLaunch> prepare(const ::fovea::Module &module, const {0} &arguments,\n"
                  "                                        const ::fovea::LaunchOptions &options = {{}) {{\n"
                  "  return module.prepare(\"{1}\", arguments.tensors(), options);\n}\n\n"
                  "/// Prepares and enqueues on `stream`.\n"
                  "inline ::fovea::Expected<void> launch(const ::fovea::Module &module, const {0} &arguments, const ::fovea::Stream &stream,\n"
                  "                             const ::fovea::LaunchOptions &options = {{}) {{\n"
                  "  return module.launch(\"{1}\", arguments.tensors(), stream, options);\n}\n",
                  type, kernel.name);
  }
  os << "\n} // namespace fovea::kernels::" << namespaceOf(manifest.spec) << "\n";
  return text;
}
