// Every verifier of `tile` refuses what it should, and says why.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics

#s = {}
tile.kernel @depth target("sm_90a") schedule #s {
  // expected-error @below {{expected a depth of at least 1, found 0 [tile.channel-C1]}}
  tile.channel @K depth(0) stations ["a", "b"] : !tile.slot<64x64xbf16, smem>
}

// -----

#s = {}
tile.kernel @one_station target("sm_90a") schedule #s {
  // expected-error @below {{expected at least two stations, since a slot must be filled and read, found 1}}
  tile.channel @K depth(1) stations ["a"] : !tile.slot<64x64xbf16, smem>
}

// -----

#s = {}
tile.kernel @unknown_station target("sm_90a") schedule #s {
  // expected-error @below {{station 'a' is no role of this kernel [tile.channel-C2]}}
  tile.channel @K depth(1) stations ["a", "b"] : !tile.slot<64x64xbf16, smem>
}

// -----

#s = {}
tile.kernel @slot target("sm_90a") schedule #s {
  // expected-error @below {{expected a slot space (smem, tmem or registers), found 'global'}}
  tile.channel @K depth(1) stations ["a", "b"] : !tile.slot<64x64xbf16, global>
}

// -----

#s = {}
tile.kernel @rank target("sm_90a") schedule #s {
  // expected-error @below {{expected a slot of rows x columns, found rank 3}}
  tile.channel @K depth(1) stations ["a", "b"] : !tile.slot<2x64x64xbf16, smem>
}

// -----

#s = {}
tile.kernel @arguments target("sm_90a") schedule #s {
  // expected-error @below {{expected the body arguments (row, rows, head) : i32}}
  tile.role @a {
  ^bb0(%row: i32):
    tile.sync
  }
}

// -----

#s = {}
tile.kernel @no_channel target("sm_90a") schedule #s {
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{expected a channel of this kernel, found 'Q'}}
    %q = tile.take @Q[0] for tma : <64x64xbf16, smem>
    tile.pass %q : <64x64xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @no_station target("sm_90a") schedule #s {
  tile.channel @Q depth(1) stations ["a", "b"] : !tile.slot<64x64xbf16, smem>
  tile.role @b {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.sync
  }
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{station 2 does not exist: channel 'Q' has 2}}
    %q = tile.take @Q[2] for tma : <64x64xbf16, smem>
    tile.pass %q : <64x64xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @other_station target("sm_90a") schedule #s {
  tile.channel @Q depth(1) stations ["a", "b"] : !tile.slot<64x64xbf16, smem>
  tile.role @b {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.sync
  }
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{role 'a' takes 'Q' at station 1, which belongs to 'b'}}
    %q = tile.take @Q[1] for tma : <64x64xbf16, smem>
    tile.pass %q : <64x64xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @type target("sm_90a") schedule #s {
  tile.channel @Q depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{expected '!tile.slot<64x64xbf16, smem>', the channel's slot type}}
    %q = tile.take @Q[0] for tma : <64x32xbf16, smem>
    tile.pass %q : <64x32xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @never_passed target("sm_90a") schedule #s {
  tile.channel @Q depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{slot of 'Q' is never passed on [tile.pass-C1]}}
    %q = tile.take @Q[0] for tma : <64x64xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @passed_twice target("sm_90a") schedule #s {
  tile.channel @Q depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{slot of 'Q' is passed twice [tile.pass-C1]}}
    %q = tile.take @Q[0] for tma : <64x64xbf16, smem>
    tile.pass %q : <64x64xbf16, smem>
    tile.pass %q : <64x64xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @used_after_pass target("sm_90a") schedule #s {
  tile.tensor @q "input" heads 4 cols 64 : bf16
  tile.channel @Q depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{slot of 'Q' is used after it was passed [tile.pass-C1]}}
    %q = tile.take @Q[0] for tma : <64x64xbf16, smem>
    tile.pass %q : <64x64xbf16, smem>
    tile.load @q[%row, %rows, %head] into %q : <64x64xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @shapes target("sm_90a") schedule #s {
  tile.channel @Q depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.channel @S depth(1) stations ["a", "a"] : !tile.slot<64x32xf32, registers>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %q = tile.take @Q[1] for tensor : <64x64xbf16, smem>
    %s = tile.take @S[0] for tensor : <64x32xf32, registers>
    // expected-error @below {{shapes do not compose: (64x64) * (64x64) into 64x32}}
    tile.mma %s = %q * %q transposed : <64x32xf32, registers>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %q : <64x64xbf16, smem>
    tile.pass %s : <64x32xf32, registers>
  }
}

// -----

#s = {}
tile.kernel @part target("sm_100a") schedule #s {
  tile.channel @P depth(1) stations ["a", "a"] : !tile.slot<128x48xbf16, tmem>
  tile.channel @V depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.channel @O depth(1) stations ["a", "a"] : !tile.slot<128x64xf32, tmem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %p = tile.take @P[1] for tensor : <128x48xbf16, tmem>
    %v = tile.take @V[1] for tensor : <64x64xbf16, smem>
    %o = tile.take @O[0] for tensor : <128x64xf32, tmem>
    tile.mma %o = %p * %v from 16 : <128x64xf32, tmem>, <128x48xbf16, tmem>, <64x64xbf16, smem>
    // expected-error @below {{takes 48 of the 64 rows of B from row 32: expected rows of it, neither operand transposed, and no diagonal}}
    tile.mma %o = %p * %v from 32 : <128x64xf32, tmem>, <128x48xbf16, tmem>, <64x64xbf16, smem>
    tile.pass %p : <128x48xbf16, tmem>
    tile.pass %v : <64x64xbf16, smem>
    tile.pass %o : <128x64xf32, tmem>
  }
}

// -----

#s = {}
tile.kernel @columns target("sm_100a") schedule #s {
  tile.channel @S depth(1) stations ["a", "a"] : !tile.slot<128x64xf32, tmem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %slot = tile.take @S[1] for threads : <128x64xf32, tmem>
    %s = tile.read %slot : <128x64xf32, tmem> -> tensor<128x64xf32, #tile.regs<rows>>
    %late = tile.columns %s from 48 : tensor<128x64xf32, #tile.regs<rows>> -> tensor<128x16xf32, #tile.regs<rows>>
    // expected-error @below {{from column 48 of 'tensor<128x64xf32, #tile.regs<rows>>' [tile.columns-C1]}}
    %beyond = tile.columns %s from 48 : tensor<128x64xf32, #tile.regs<rows>> -> tensor<128x32xf32, #tile.regs<rows>>
    tile.pass %slot : <128x64xf32, tmem>
  }
}

// -----

#s = {}
tile.kernel @diagonal target("sm_90a") schedule #s {
  tile.channel @Q depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.channel @S depth(1) stations ["a", "a"] : !tile.slot<64x48xf32, registers>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %q = tile.take @Q[1] for tensor : <64x64xbf16, smem>
    %s = tile.take @S[0] for tensor : <64x48xf32, registers>
    // expected-error @below {{diagonal(48) does not divide the 64 rows of the product}}
    tile.mma %s = %q * %q transposed diagonal(48) : <64x48xf32, registers>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %q : <64x64xbf16, smem>
    tile.pass %s : <64x48xf32, registers>
  }
}

// -----

func.func @mask_keys_rank(%t: tensor<64xf32, #tile.regs<fragment>>, %i: i32) {
  // expected-error @below {{expected an f32 tile of rows x keys, found 'tensor<64xf32, #tile.regs<fragment>>' [tile.mask_keys-C1]}}
  %m = tile.mask_keys %t keys(%i) queries(%i) lower[] upper[%i] : tensor<64xf32, #tile.regs<fragment>>
  return
}

// -----

func.func @mask_keys_clauses(%t: tensor<64x16xf32, #tile.regs<fragment>>, %i: i32) {
  // expected-error @below {{expected the upper limit to have a block for each of its 1 terms, and clauses that add up to them [tile.mask_keys-C2]}}
  %m = "tile.mask_keys"(%t, %i, %i, %i) {lower_blocks = array<i64>, lower_clauses = array<i64>, upper_blocks = array<i64: 0>, upper_clauses = array<i64: 2>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>} : (tensor<64x16xf32, #tile.regs<fragment>>, i32, i32, i32) -> tensor<64x16xf32, #tile.regs<fragment>>
  return
}

// -----

func.func @mask_keys_block(%t: tensor<64x16xf32, #tile.regs<fragment>>, %i: i32) {
  // expected-error @below {{expected blocks of 0 to 2^30 queries in the lower limit, found -4 [tile.mask_keys-C3]}}
  %m = tile.mask_keys %t keys(%i) queries(%i) lower[%i + block(-4)] upper[%i] : tensor<64x16xf32, #tile.regs<fragment>>
  return
}

// -----

func.func @mask_keys_term(%t: tensor<64x16xf32, #tile.regs<fragment>>, %i: i32) {
  // expected-error @below {{expected 'block' or 'i' behind '+'}}
  %m = tile.mask_keys %t keys(%i) queries(%i) lower[%i + j] upper[%i] : tensor<64x16xf32, #tile.regs<fragment>>
  return
}

// -----

#s = {}
tile.kernel @table_dims target("sm_90a") schedule #s {
  // expected-error @below {{expected 1 to 4 dimensions, found 5 [tile.table-C1]}}
  tile.table @t dims 5 : f32
}

// -----

#s = {}
tile.kernel @table_element target("sm_90a") schedule #s {
  // expected-error @below {{expected elements of f32 or i32, found 'bf16' [tile.table-C2]}}
  tile.table @t dims 1 : bf16
}

// -----

func.func @map_pairs_none(%i: i32) {
  // expected-error @below {{expected at least one tile [tile.map_pairs-C1]}}
  %m = "tile.map_pairs"(%i, %i) ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.constant 0.0 : f32
    tile.result %c : f32
  }) {operandSegmentSizes = array<i32: 0, 1, 1, 0, 0>} : (i32, i32) -> tensor<64x16xf32, #tile.regs<fragment>>
  return
}

// -----

func.func @map_pairs_types(%t: tensor<64x32xf32, #tile.regs<fragment>>, %i: i32) {
  // expected-error @below {{expected f32 tiles of rows x keys of one type, found 'tensor<64x32xf32, #tile.regs<fragment>>' and 'tensor<64x16xf32, #tile.regs<fragment>>' [tile.map_pairs-C1]}}
  %m = tile.map_pairs %t queries(%i) keys(%i) : tensor<64x32xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
  ^bb0(%x: f32, %a: i32, %b: i32):
    tile.result %x : f32
  }
  return
}

// -----

func.func @map_pairs_when(%t: tensor<64x16xf32, #tile.regs<fragment>>, %i: i32, %w: i1) {
  // expected-error @below {{expected one tile beside 'when', the one that stays, found 2 [tile.map_pairs-C5]}}
  %m = tile.map_pairs %t, %t queries(%i) keys(%i) when(%w) : tensor<64x16xf32, #tile.regs<fragment>>, tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
  ^bb0(%x: f32, %y: f32, %a: i32, %b: i32):
    tile.result %x : f32
  }
  return
}

// -----

func.func @map_pairs_arguments(%t: tensor<64x16xf32, #tile.regs<fragment>>, %i: i32) {
  // expected-error @below {{expected the block arguments to be 1 f32, then i and j : i32 [tile.map_pairs-C2]}}
  %m = tile.map_pairs %t queries(%i) keys(%i) : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
  ^bb0(%x: f32, %a: i32):
    tile.result %x : f32
  }
  return
}

// -----

func.func @map_pairs_heads(%t: tensor<64x16xf32, #tile.regs<fragment>>, %i: i32) {
  // expected-error @below {{expected the block arguments to be 1 f32, then i and j and the head : i32 [tile.map_pairs-C2]}}
  %m = tile.map_pairs %t queries(%i) keys(%i) heads(%i) : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
  ^bb0(%x: f32, %a: i32, %b: i32):
    tile.result %x : f32
  }
  return
}

// -----

func.func @map_pairs_result(%t: tensor<64x16xf32, #tile.regs<fragment>>, %i: i32) {
  // expected-error @below {{expected the block to end in tile.result of an f32, or of an i1 for one tile [tile.map_pairs-C3]}}
  %m = tile.map_pairs %t, %t queries(%i) keys(%i) : tensor<64x16xf32, #tile.regs<fragment>>, tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
  ^bb0(%x: f32, %y: f32, %a: i32, %b: i32):
    %c = arith.constant true
    tile.result %c : i1
  }
  return
}

// -----

func.func @map_pairs_ops(%t: tensor<64x16xf32, #tile.regs<fragment>>, %i: i32) {
  // expected-error @below {{expected only arith and math ops and tile.lookup, found tile.sync [tile.map_pairs-C4]}}
  %m = tile.map_pairs %t queries(%i) keys(%i) : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
  ^bb0(%x: f32, %a: i32, %b: i32):
    tile.sync
    tile.result %x : f32
  }
  return
}

// -----

func.func @lookup_table(%t: tensor<64x16xf32, #tile.regs<fragment>>, %i: i32) {
  %m = tile.map_pairs %t queries(%i) keys(%i) : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
  ^bb0(%x: f32, %a: i32, %b: i32):
    // expected-error @below {{expected a table of this kernel, found 'gone' [tile.lookup-C1]}}
    %y = tile.lookup @gone[%a] : f32
    tile.result %y : f32
  }
  return
}

// -----

func.func @lookup_rows_table(%i: i32) {
  // expected-error @below {{expected a table of this kernel, found 'gone' [tile.lookup_rows-C1]}}
  %y = tile.lookup_rows @gone[%i] : tensor<64xf32, #tile.regs<fragment>>
  return
}

// -----

#s = {}
tile.kernel @lookup_rows_element target("sm_90a") schedule #s {
  tile.table @t dims 1 : i32
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{expected 1 indices and a result of 'i32', those of 't' [tile.lookup_rows-C1]}}
    %y = tile.lookup_rows @t[%head] : tensor<64xf32, #tile.regs<fragment>>
  }
}

// -----

func.func @lookup_rows_result(%i: i32) {
  // expected-error @below {{expected an f32 for each row, found 'tensor<64x16xf32, #tile.regs<fragment>>' [tile.lookup_rows-C2]}}
  %y = tile.lookup_rows @gone[%i] : tensor<64x16xf32, #tile.regs<fragment>>
  return
}

// -----

#s = {}
tile.kernel @lookup_indices target("sm_90a") schedule #s {
  tile.table @t dims 2 : f32
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = arith.constant dense<0.0> : tensor<64x16xf32, #tile.regs<fragment>>
    %m = tile.map_pairs %s queries(%row) keys(%row) : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
    ^bb0(%x: f32, %a: i32, %b: i32):
      // expected-error @below {{expected 2 indices and a result of 'f32', those of 't' [tile.lookup-C1]}}
      %y = tile.lookup @t[%a] : f32
      tile.result %y : f32
    }
  }
}
