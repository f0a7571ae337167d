// The verifiers of key blocks, loops, cold paths and views refuse what they should, and say why.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics

#s = {}
tile.kernel @arguments target("sm_90a") schedule #s attributes {key_blocks} {
  // expected-error @below {{expected the body arguments (row, rows, head, batch, query, queries, key, keys) : i32}}
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.sync
  }
}

// -----

#s = {}
tile.kernel @inits_and_first target("sm_90a") schedule #s attributes {key_blocks} {
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    // expected-error @below {{takes its first values from its first block, so it needs no others}}
    %r = tile.blocks %keys inits(%row) : (i32) -> i32 first {
    ^bb0(%t: i32):
      tile.yield %t : i32
    } body {
    ^bb0(%t: i32, %x: i32):
      tile.yield %x : i32
    }
  }
}

// -----

#s = {}
tile.kernel @first_carries target("sm_90a") schedule #s attributes {key_blocks} {
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    // expected-error @below {{expected a body whose arguments behind the block's number are what it carries}}
    %r = tile.blocks %keys inits() : () -> i32 first {
    ^bb0(%t: i32, %x: i32):
      tile.yield %t : i32
    } body {
    ^bb0(%t: i32, %x: i32):
      tile.yield %x : i32
    }
  }
}

// -----

#s = {}
tile.kernel @yields target("sm_90a") schedule #s attributes {key_blocks} {
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    // expected-error @below {{expected a body that yields the types of the results}}
    %r = tile.blocks %keys inits(%row) : (i32) -> i32 first {
    } body {
    ^bb0(%t: i32, %x: i32):
      tile.yield
    }
  }
}

// -----

#s = {}
tile.kernel @no_number target("sm_90a") schedule #s attributes {key_blocks} {
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    // expected-error @below {{expected the block's number, an i32, as the first argument of a body}}
    tile.blocks %keys inits() : () -> () first {
    } body {
    ^bb0(%t: i64):
      tile.yield
    }
  }
}

// -----

#s = {}
tile.kernel @carried target("sm_90a") schedule #s attributes {key_blocks} {
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    // expected-error @below {{expected a body whose arguments behind the block's number are what it carries}}
    %r = tile.blocks %keys inits(%row) : (i32) -> i32 first {
    } body {
    ^bb0(%t: i32):
      tile.yield %t : i32
    }
  }
}

// -----

#s = {}
tile.kernel @inits target("sm_90a") schedule #s attributes {key_blocks} {
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    // expected-error @below {{expected initial values of the types of the results}}
    %r = tile.blocks %keys inits() : () -> i32 first {
    } body {
    ^bb0(%t: i32, %x: i32):
      tile.yield %x : i32
    }
  }
}

// -----

#s = {}
tile.kernel @loop_yields target("sm_90a") schedule #s attributes {key_blocks} {
  tile.group @all warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    // expected-error @below {{expected a body that yields the types of the results}}
    %r = tile.loop %row to %keys inits(%row) : (i32) -> i32 {
    ^bb0(%t: i32, %x: i32):
      tile.yield
    }
  }
}

// -----

#s = {}
tile.kernel @loop_carried target("sm_90a") schedule #s attributes {key_blocks} {
  tile.group @all warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    // expected-error @below {{expected a body whose arguments behind the block's number are what it carries}}
    %r = tile.loop %row to %keys inits(%row) : (i32) -> i32 {
    ^bb0(%t: i32):
      tile.yield %t : i32
    }
  }
}

// -----

#s = {}
tile.kernel @rare_inits target("sm_90a") schedule #s attributes {key_blocks} {
  tile.group @all warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    %sum = arith.constant dense<1.0> : tensor<64xf32, #tile.regs<fragment>>
    // expected-error @below {{expected initial values of the types of the results}}
    %r = tile.rare %sum beyond 2.0 inits() : tensor<64xf32, #tile.regs<fragment>>, () -> i32 {
      tile.yield %row : i32
    }
  }
}

// -----

#s = {}
tile.kernel @rare_yields target("sm_90a") schedule #s attributes {key_blocks} {
  tile.group @all warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    %sum = arith.constant dense<1.0> : tensor<64xf32, #tile.regs<fragment>>
    // expected-error @below {{expected a body that yields the types of the results}}
    %r = tile.rare %sum beyond 2.0 inits(%row) : tensor<64xf32, #tile.regs<fragment>>, (i32) -> i32 {
      tile.yield
    }
  }
}

// -----

#s = {}
tile.kernel @view_of_nothing target("sm_90a") schedule #s {
  // expected-error @below {{is a view: expected the alias of a channel with the same slots and depth [tile.channel-C4]}}
  tile.channel @Result depth(1) stations ["a", "b"] view : !tile.slot<64x64xf32, registers>
}

// -----

#s = {}
tile.kernel @view_of_itself target("sm_90a") schedule #s {
  // expected-error @below {{is a view: expected the alias of a channel with the same slots and depth [tile.channel-C4]}}
  tile.channel @Result depth(1) stations ["a", "b"] alias(@Result) view : !tile.slot<64x64xf32, registers>
}

// -----

#s = {}
tile.kernel @view_of_other_slots target("sm_90a") schedule #s {
  tile.channel @O depth(1) stations ["a", "b"] : !tile.slot<64x128xf32, registers>
  // expected-error @below {{is a view: expected the alias of a channel with the same slots and depth [tile.channel-C4]}}
  tile.channel @Result depth(1) stations ["a", "b"] alias(@O) view : !tile.slot<64x64xf32, registers>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  tile.role @b {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
}

// -----

#s = {}
tile.kernel @view_of_other_depth target("sm_90a") schedule #s {
  tile.channel @O depth(2) stations ["a", "b"] : !tile.slot<64x64xf32, smem>
  // expected-error @below {{is a view: expected the alias of a channel with the same slots and depth [tile.channel-C4]}}
  tile.channel @Result depth(1) stations ["a", "b"] alias(@O) view : !tile.slot<64x64xf32, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  tile.role @b {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
}

// -----

#s = {}
tile.kernel @edge_without_begin target("sm_90a") schedule #s attributes {key_blocks} {
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    // expected-error @below {{expected the first block without an edge exactly where there is an edge}}
    tile.blocks %keys inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      tile.yield
    } edge {
    ^bb0(%t: i32):
      tile.yield
    }
  }
}

// -----

#s = {}
tile.kernel @teams target("sm_90a") schedule #s {
  // expected-error @below {{expected teams of 4 warps, found 2 teams of 4 warps [tile.group-C1]}}
  tile.group @a warps(0, 4) registers(0) roles [] teams(2) {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
}
