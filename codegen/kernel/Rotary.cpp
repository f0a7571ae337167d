// codegen/kernel/Rotary.cpp - rotary embeddings (tile.rotate, and tile.copy's "unrotated by").
#include "codegen/kernel/Rotary.h"
#include "codegen/common/SharedAccess.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;

namespace {
// One pair of the rotation in registers: which of the thread's rows it is in, and the static part of its number.
struct Pair {
  Value *x0, *x1;
  uint32_t row; ///< added to the thread's row
  uint32_t m;
};

using Angles = SmallVector<Value>;

// `count` consecutive elements of a table as f32, from a naturally aligned shared address.
Angles loadAngles(Emitter &e, Type element, Value address, uint32_t count) {
  OpBuilder &b = e.b;
  Angles angles;
  if (element.isF32()) {
    for (uint32_t i = 0; i < count; i += 4) {
      uint32_t n = std::min(count - i, 4u);
      Type type = n == 1 ? b.getF32Type() : Type(VectorType::get({int64_t(n)}, b.getF32Type()));
      Value loaded = loadShared(b, e.loc, type, addI32(b, e.loc, address, 4 * i));
      n == 1 ? angles.push_back(loaded) : angles.append(unpackVector(b, e.loc, loaded));
    }
    return angles;
  }
  if (count == 1) { // a bf16 is the upper half of an f32
    Value bits = LLVM::ZExtOp::create(b, e.loc, b.getI32Type(), loadShared(b, e.loc, b.getI16Type(), address));
    return {floatOf(b, e.loc, LLVM::ShlOp::create(b, e.loc, bits, e.i32(16)))};
  }
  int64_t words = count / 2;
  Type type = words == 1 ? b.getI32Type() : Type(VectorType::get({words}, b.getI32Type()));
  Value loaded = loadShared(b, e.loc, type, address);
  for (Value word : words == 1 ? SmallVector<Value>{loaded} : unpackVector(b, e.loc, loaded)) {
    auto [low, high] = unpackHalf2(b, e.loc, Half::BF16, word);
    angles.push_back(low), angles.push_back(high);
  }
  return angles;
}

// (x0, x1) turned by the angle, or by minus the angle.
std::pair<Value, Value> turn(Emitter &e, Value x0, Value x1, Value sine, Value cosine, bool back) {
  if (back)
    std::swap(x0, x1);
  // y0 = x0 cos - x1 sin, y1 = x1 cos + x0 sin; turning back is the same with the parts exchanged.
  Value minus = LLVM::FNegOp::create(e.b, e.loc, mulF(e.b, e.loc, x1, sine));
  Value y0 = fma(e.b, e.loc, x0, cosine, minus);
  Value y1 = fma(e.b, e.loc, x1, cosine, mulF(e.b, e.loc, x0, sine));
  return back ? std::pair(y1, y0) : std::pair(y0, y1);
}
} // namespace

void fovea::codegen::unrotate(Emitter &e, Value table, Pairing pairing, MutableArrayRef<Value> x,
                              MutableArrayRef<Value> y, uint32_t col0) {
  const bool rows = e.holdsRows(), interleaved = pairing == Pairing::Interleaved;
  auto type = cast<SlotType>(table.getType());
  layout::SmemTile tile = e.smemTile(type);
  const uint32_t half = tile.cols() / 2;

  // Pairs whose angles lie side by side follow one another, `width` at a time.
  SmallVector<Pair> pairs;
  uint32_t width;
  if (rows) {
    width = 16 / tile.elemBytes();
    for (uint32_t i = 0; i < (interleaved ? x.size() / 2 : x.size()); ++i)
      pairs.push_back(interleaved ? Pair{&x[2 * i], &x[2 * i + 1], 0, col0 / 2 + i} : Pair{&x[i], &y[i], 0, col0 + i});
  } else {
    // Fragment: register r is column 8 (r / 4) + 2 (lane % 4) + r % 2 of row lane / 4 + 8 (r / 2 % 2).
    width = interleaved ? 1 : 2;
    for (uint32_t r = 0; r < x.size(); r += interleaved ? 2 : 1)
      pairs.push_back(interleaved ? Pair{&x[r], &x[r + 1], 8 * (r / 2 % 2), col0 / 2 + 4 * (r / 4)}
                                  : Pair{&x[r], &y[r], 8 * (r / 2 % 2), col0 + 8 * (r / 4) + r % 2});
  }
  Value quad = rows ? Value() : Value(LLVM::AndOp::create(e.b, e.loc, e.lane, e.i32(3)));
  Value row = e.add(e.warpRow(), rows ? e.lane : Value(LLVM::LShrOp::create(e.b, e.loc, e.lane, e.i32(2))));
  Value column = rows ? e.i32(0) : interleaved ? quad : e.add(quad, quad);
  Value laneOffset = tileOffset(e.b, e.loc, tile, row, column);
  for (size_t i = 0; i < pairs.size(); i += width) {
    auto angles = [&](uint32_t from) {
      Value address = tileAddress(e.b, e.loc, tile, e.address(table), laneOffset, pairs[i].row, from + pairs[i].m);
      return loadAngles(e, type.getElementType(), address, width);
    };
    Angles sines = angles(0), cosines = angles(half);
    for (uint32_t k = 0; k < width; ++k) {
      Pair &pair = pairs[i + k];
      std::tie(*pair.x0, *pair.x1) = turn(e, *pair.x0, *pair.x1, sines[k], cosines[k], /*back=*/true);
    }
  }
}

// Whole rows of threads walk down the tile: a thread turns the pairs of 8 columns (interleaved), or of two times 8 that
// are cols / 2 apart (halves), of every so-many-th row.
void Emitter::emitRotate(RotateOp op) {
  const bool interleaved = op.getPairing() == Pairing::Interleaved;
  auto type = cast<SlotType>(op.getSlot().getType());
  auto tableType = cast<SlotType>(op.getTable().getType());
  layout::SmemTile tile = smemTile(type), table = smemTile(tableType);
  const Half half = this->half(type.getElementType());
  const uint32_t middle = tile.cols() / 2, chunks = (interleaved ? tile.cols() : middle) / 8;
  const uint32_t across = std::min<uint32_t>(llvm::PowerOf2Ceil(chunks), uint32_t(groupThreads()));
  Value chunk = LLVM::AndOp::create(b, loc, group.thread, i32(across - 1));
  Value firstRow = LLVM::LShrOp::create(b, loc, group.thread, i32(llvm::Log2_32(across)));
  auto walk = [&] {
    forLoop(firstRow, scalars[op.getRows()], i32(groupThreads() / across), [&](Value row) {
      Value column = mul(chunk, i32(8));
      auto at = [&](uint32_t shift) {
        return add(address(op.getSlot()), tileOffset(b, loc, tile, row, addI32(b, loc, column, shift)));
      };
      auto load = [&](Value from) {
        SmallVector<Value> values;
        for (Value word : unpackVector(b, loc, loadShared(b, loc, VectorType::get({4}, b.getI32Type()), from))) {
          auto [low, high] = unpackHalf2(b, loc, half, word);
          values.push_back(low), values.push_back(high);
        }
        return values;
      };
      auto store = [&](ArrayRef<Value> values, Value to) {
        SmallVector<Value> words;
        for (size_t i = 0; i < values.size(); i += 2)
          words.push_back(packHalf2(b, loc, half, values[i], values[i + 1]));
        storeShared(b, loc, packVector(b, loc, words), to);
      };
      auto angles = [&](uint32_t from) {
        Value pair = interleaved ? mul(chunk, i32(4)) : column;
        Angles all;
        // A run of the table that lies side by side: 16 bytes.
        for (uint32_t i = 0, n = interleaved ? 4 : 8, run = std::min(n, 16 / table.elemBytes()); i < n; i += run) {
          Value offset = tileOffset(b, loc, table, row, addI32(b, loc, pair, from + i));
          all.append(loadAngles(*this, tableType.getElementType(), add(address(op.getTable()), offset), run));
        }
        return all;
      };
      Angles sines = angles(0), cosines = angles(middle);
      Value low = at(0), high = interleaved ? Value() : at(middle);
      SmallVector<Value> x = load(low), y = interleaved ? SmallVector<Value>() : load(high);
      for (size_t k = 0; k < sines.size(); ++k) {
        Value &x0 = interleaved ? x[2 * k] : x[k], &x1 = interleaved ? x[2 * k + 1] : y[k];
        std::tie(x0, x1) = turn(*this, x0, x1, sines[k], cosines[k], /*back=*/false);
      }
      store(x, low);
      if (!interleaved)
        store(y, high);
    });
  };
  if (across == chunks)
    walk();
  else
    ifThen(cmp(LLVM::ICmpPredicate::ult, chunk, i32(chunks)), walk);
}
