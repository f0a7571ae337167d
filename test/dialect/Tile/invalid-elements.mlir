// Expressions of elements that tile.map_elements refuses.
// RUN: %fovea-opt %s --split-input-file --verify-diagnostics

func.func @none(%x: !tile.slot<64x64xbf16, smem>) {
  // expected-error @below {{expected at least one input and one output [tile.map_elements-C1]}}
  "tile.map_elements"(%x) ({
  ^bb0(%a: f32, %r: i32, %d: i32):
    tile.yield
  }) {operandSegmentSizes = array<i32: 1, 0>} : (!tile.slot<64x64xbf16, smem>) -> ()
  return
}

// -----

func.func @shapes(%x: !tile.slot<64x64xbf16, smem>, %y: !tile.slot<64x32xbf16, smem>) {
  // expected-error @below {{expected slots of one shape, with a multiple of 32 columns, found '!tile.slot<64x64xbf16, smem>' and '!tile.slot<64x32xbf16, smem>' [tile.map_elements-C1]}}
  tile.map_elements %x into %y : !tile.slot<64x64xbf16, smem> into !tile.slot<64x32xbf16, smem> {
  ^bb0(%a: f32, %r: i32, %d: i32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @output(%x: !tile.slot<64x64xf32, tmem>) {
  // expected-error @below {{expected outputs of 16-bit elements in smem, found '!tile.slot<64x64xf32, tmem>' [tile.map_elements-C1]}}
  tile.map_elements %x into %x : !tile.slot<64x64xf32, tmem> into !tile.slot<64x64xf32, tmem> {
  ^bb0(%a: f32, %r: i32, %d: i32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @arguments(%x: !tile.slot<64x64xbf16, smem>) {
  // expected-error @below {{expected the block arguments to be 1 f32, then row and column : i32 [tile.map_elements-C2]}}
  tile.map_elements %x into %x : !tile.slot<64x64xbf16, smem> into !tile.slot<64x64xbf16, smem> {
  ^bb0(%a: f32, %r: i32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @yields(%x: !tile.slot<64x64xbf16, smem>, %y: !tile.slot<64x64xbf16, smem>) {
  // expected-error @below {{expected the block to yield 2 f32, one for each output [tile.map_elements-C3]}}
  tile.map_elements %x into %x, %y : !tile.slot<64x64xbf16, smem> into !tile.slot<64x64xbf16, smem>, !tile.slot<64x64xbf16, smem> {
  ^bb0(%a: f32, %r: i32, %d: i32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @ops(%x: !tile.slot<64x64xbf16, smem>) {
  // expected-error @below {{expected only arith and math ops and tile.lookup, found tile.sync [tile.map_elements-C4]}}
  tile.map_elements %x into %x : !tile.slot<64x64xbf16, smem> into !tile.slot<64x64xbf16, smem> {
  ^bb0(%a: f32, %r: i32, %d: i32):
    tile.sync
    tile.yield %a : f32
  }
  return
}
