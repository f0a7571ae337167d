# What every compiler library shares: LLVM/MLIR, one precompiled header, two helpers.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/llvm)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# LLVM and MLIR as shared libraries, or inside the program (a target with the property FOVEA_LLVM_INSIDE): for a machine
# that has neither. The property is read off the program at the end of the chain of libraries.
if(NOT TARGET zstd::libzstd_shared) # LLVM's archives name it; its development package is not needed for that
  find_library(FOVEA_ZSTD NAMES zstd libzstd.so.1 REQUIRED)
  add_library(zstd::libzstd_shared INTERFACE IMPORTED)
  target_link_libraries(zstd::libzstd_shared INTERFACE ${FOVEA_ZSTD})
endif()
set(fovea_shared_llvm MLIR LLVM)
set(fovea_static_llvm MLIRNVVMToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation MLIRBuiltinToLLVMIRTranslation
  MLIRTargetLLVMIRExport MLIRConvertToLLVMPass MLIRNVVMToLLVM MLIRArithToLLVM MLIRMathToLLVM MLIRIndexToLLVM
  MLIRControlFlowToLLVM MLIRSCFToControlFlow MLIRSCFTransforms MLIRReconcileUnrealizedCasts MLIRArithTransforms
  MLIRLLVMIRTransforms MLIRFuncDialect MLIRGPUDialect MLIRParser MLIRTransforms LLVMNVPTXCodeGen LLVMNVPTXDesc
  LLVMNVPTXInfo LLVMIRReader)
set(fovea_llvm "$<IF:$<BOOL:$<TARGET_PROPERTY:FOVEA_LLVM_INSIDE>>,${fovea_static_llvm},${fovea_shared_llvm}>")

# MLIR's headers take 10-20 s a file on one core; one precompiled header makes that a fraction
# of a second. Clang writes it in 15 s and 170 MB, GCC in 55 s and 1 GB, so the presets ask for clang.
file(WRITE ${PROJECT_BINARY_DIR}/fovea_pch.cpp "")
add_library(fovea_pch STATIC ${PROJECT_BINARY_DIR}/fovea_pch.cpp)
target_include_directories(fovea_pch SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_precompile_headers(fovea_pch PRIVATE
  <mlir/Conversion/Passes.h>
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/LLVMIR/NVVMDialect.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/IR/Builders.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/DialectImplementation.h>
  <mlir/IR/OpImplementation.h>
  <mlir/Interfaces/SideEffectInterfaces.h>
  <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>
  <llvm/ADT/TypeSwitch.h>
  <llvm/Support/JSON.h>)

# fovea_compiler_library(NAME SOURCES... LINK libs...): a static library of the compiler half.
function(fovea_compiler_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_precompile_headers(${name} REUSE_FROM fovea_pch)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} "${fovea_llvm}")
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# fovea_compiler_tool(NAME SOURCES... LINK libs...): an executable of the compiler half.
function(fovea_compiler_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  # The header was precompiled with -fPIC; clang refuses it under an executable's -fPIE.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_precompile_headers(${name} REUSE_FROM fovea_pch)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} "${fovea_llvm}")
endfunction()

# fovea_dialect(NAME dialect): runs mlir-tblgen on <NAME>Ops.td of this directory and makes <NAME>Ops.{h,cpp}.inc,
# <NAME>Dialect, <NAME>Enums, <NAME>Attrs and <NAME>Types likewise; the target is Fovea<NAME>IncGen.
function(fovea_dialect name dialect)
  set(LLVM_TARGET_DEFINITIONS ${CMAKE_CURRENT_SOURCE_DIR}/${name}Ops.td)
  foreach(kind IN ITEMS Ops:op Dialect:dialect Enums:enum Attrs:attrdef Types:typedef)
    string(REPLACE ":" ";" kind ${kind})
    list(GET kind 0 file)
    list(GET kind 1 flag)
    set(which)
    if(flag MATCHES "attrdef")
      set(which -attrdefs-dialect=${dialect})
    elseif(flag MATCHES "typedef")
      set(which -typedefs-dialect=${dialect})
    elseif(flag STREQUAL "dialect")
      set(which -dialect=${dialect})
    endif()
    mlir_tablegen(${name}${file}.h.inc -gen-${flag}-decls ${which} EXTRA_INCLUDES ${MLIR_INCLUDE_DIRS})
    mlir_tablegen(${name}${file}.cpp.inc -gen-${flag}-defs ${which} EXTRA_INCLUDES ${MLIR_INCLUDE_DIRS})
  endforeach()
  add_public_tablegen_target(Fovea${name}IncGen)
endfunction()
