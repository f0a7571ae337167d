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
