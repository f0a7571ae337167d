// test/unit/layout/AgainstEmulatorTest.cpp - do the compiler's layouts and the emulator's units,
// written apart from the ISA, mean the same bytes?
#include "dialect/Layout/Fragment.h"
#include "dialect/Layout/InstructionDescriptor.h"
#include "dialect/Layout/MatrixDescriptor.h"
#include "dialect/Layout/TmemLayout.h"
#include "runtime/emulator/machine/tensor/InstructionDescriptor.h"
#include "runtime/emulator/machine/tensor/MatrixMove.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include "runtime/emulator/machine/tensor/Tcgen05Mma.h"
#include "runtime/emulator/machine/tensor/TensorCopy.h"
#include "runtime/emulator/machine/tensor/TmemMove.h"
#include "runtime/emulator/machine/tensor/Wgmma.h"

#include <gtest/gtest.h>
#include <random>

namespace emulator = fovea::emulator;
using namespace fovea::layout;

namespace {

const uint32_t headDims[] = {32, 64, 96, 128, 192, 256};

/// A dense row-major matrix of small integers, exact in bf16 and in every sum below.
struct Matrix {
  uint32_t rows, cols;
  std::vector<float> v;

  Matrix(uint32_t rows, uint32_t cols) : rows(rows), cols(cols), v(size_t(rows) * cols) {}
  float &at(uint32_t r, uint32_t c) { return v[size_t(r) * cols + c]; }
  float at(uint32_t r, uint32_t c) const { return v[size_t(r) * cols + c]; }
  static Matrix random(uint32_t rows, uint32_t cols, unsigned seed) {
    Matrix m(rows, cols);
    std::mt19937 engine(seed);
    for (float &x : m.v)
      x = float(int(engine() % 5) - 2);
    return m;
  }
};

/// Global memory that holds one bf16 matrix at address 0.
struct MatrixMemory : emulator::GlobalPort {
  std::vector<uint8_t> bytes;

  explicit MatrixMemory(const Matrix &m) : bytes(m.v.size() * 2) {
    for (size_t i = 0; i < m.v.size(); ++i) {
      uint16_t half = emulator::floatToBf16(m.v[i]);
      std::memcpy(&bytes[2 * i], &half, 2);
    }
  }
  void read(uint64_t address, void *to, size_t n) override {
    std::memcpy(to, &bytes.at(address + n - 1) - (n - 1), n);
  }
  void write(uint64_t address, const void *from, size_t n) override {
    std::memcpy(&bytes.at(address + n - 1) - (n - 1), from, n);
  }
  float element(size_t i) const {
    uint16_t half;
    std::memcpy(&half, &bytes[2 * i], 2);
    return emulator::bf16ToFloat(half);
  }
};

struct Shared {
  std::vector<uint8_t> bytes;
  explicit Shared(uint32_t size) : bytes(size, 0xFF) {}
  emulator::SharedSpan span() { return {bytes.data(), uint32_t(bytes.size())}; }
};

emulator::Swizzle swizzleOf(SwizzleMode mode) {
  return static_cast<emulator::Swizzle>(static_cast<int>(mode));
}

/// The tensor map of a tile: 2-D with one panel a box, or 3-D with the panels as third dimension.
emulator::TensorMap mapOf(const SmemTile &tile, const TmaBox &box) {
  emulator::TensorMap map;
  map.type = emulator::MapType::BF16;
  map.rank = box.dims.size();
  map.dims = {tile.cols(), tile.rows()};
  map.strides = {tile.cols() * 2};
  if (map.rank == 3) {
    map.dims = {tile.panelCols(), tile.rows(), tile.panelCount()};
    map.strides = {tile.cols() * 2, tile.rowBytes()};
  }
  for (size_t i = 0; i < box.dims.size(); ++i)
    map.box[i] = box.dims[i];
  map.swizzle = swizzleOf(tile.swizzle());
  return map;
}

emulator::BoxPosition positionOf(const TmaBox &box) {
  emulator::BoxPosition at;
  for (size_t i = 0; i < box.origin.size(); ++i)
    at.coords[i] = box.origin[i];
  return at;
}

void loadTile(const SmemTile &tile, const Matrix &m, Shared &smem, uint32_t base) {
  MatrixMemory memory(m);
  for (const TmaBox &box : tile.panelBoxes(0, tile.rows()))
    emulator::loadBox(mapOf(tile, box), positionOf(box), memory, smem.span(),
                      base + box.smemOffset);
}

/// Registers of `warps` warps, reg-major inside a warp.
struct Registers {
  uint32_t count;
  std::vector<uint32_t> v;
  std::vector<emulator::WarpRegister> view;

  Registers(uint32_t warps, uint32_t count) : count(count), v(size_t(warps) * count * 32) {
    for (uint32_t i = 0; i < warps * count; ++i)
      view.push_back({&v[size_t(i) * 32], 4});
  }
  uint32_t &at(uint32_t thread, uint32_t reg) {
    return v[(size_t(thread / 32) * count + reg) * 32 + thread % 32];
  }
  float f(uint32_t thread, uint32_t reg) { return emulator::bitsToFloat(at(thread, reg)); }
  const emulator::WarpRegister *warp(uint32_t w) const { return &view[size_t(w) * count]; }
};

uint32_t pack(float lo, float hi) {
  return emulator::floatToBf16(lo) | uint32_t(emulator::floatToBf16(hi)) << 16;
}

} // namespace

TEST(AgainstEmulator, TmaWritesTheTile) {
  for (uint32_t cols : headDims) {
    SmemTile tile(64, cols, 2);
    Matrix m = Matrix::random(64, cols, cols);
    MatrixMemory memory(m);
    Shared panels(tile.bytes() + 1024), whole(tile.bytes() + 1024);
    loadTile(tile, m, panels, 1024);
    TmaBox box = tile.wholeBox();
    EXPECT_EQ(emulator::boxBytes(mapOf(tile, box), positionOf(box)), box.bytes);
    emulator::loadBox(mapOf(tile, box), positionOf(box), memory, whole.span(), 1024);
    EXPECT_EQ(panels.bytes, whole.bytes) << cols;
    for (uint32_t r = 0; r < 64; ++r)
      for (uint32_t c = 0; c < cols; ++c) {
        uint16_t half;
        std::memcpy(&half, &panels.bytes[1024 + tile.offset(r, c)], 2);
        ASSERT_EQ(emulator::bf16ToFloat(half), m.at(r, c)) << cols << " " << r << " " << c;
      }
  }
}

TEST(AgainstEmulator, DescriptorsReachEveryElement) {
  const uint32_t base = 3 * 1024;
  for (uint32_t cols : headDims)
    for (Major major : {Major::K, Major::MN})
      for (TensorCore core : {TensorCore::Tcgen05, TensorCore::Wgmma}) {
        SmemTile tile(64, cols, 2);
        MatrixOperand op = describeOperand(tile, major);
        auto theirs = major == Major::K ? emulator::Major::K : emulator::Major::MN;
        for (size_t step = 0; step < op.stepOffsets.size(); ++step) {
          uint64_t bits = (op.descriptor.encode(core) | encodeAddress(base)) +
                          encodeAddress(op.stepOffsets[step]);
          auto desc = core == TensorCore::Wgmma ? emulator::decodeWgmmaDescriptor(bits)
                                                : emulator::decodeTcgen05Descriptor(bits);
          emulator::checkOperand(desc, theirs, 16);
          for (uint32_t i = 0; i < op.mn; ++i)
            for (uint32_t k = 0; k < op.kStep; ++k) {
              uint32_t deep = step * op.kStep + k;
              uint32_t expected = major == Major::K ? tile.offset(i, deep) : tile.offset(deep, i);
              ASSERT_EQ(emulator::elementAddress(desc, theirs, 2, i, k), base + expected)
                  << cols << " step " << step << " i " << i << " k " << k;
            }
        }
      }
}

TEST(AgainstEmulator, InstructionDescriptors) {
  for (uint32_t m : {64u, 128u})
    for (uint32_t n : {8u, 96u, 256u})
      for (bool transposed : {false, true}) {
        InstructionDescriptor ours;
        ours.m = m;
        ours.n = n;
        ours.transposeA = transposed;
        ours.transposeB = !transposed;
        ours.b = F16Type::BF16;
        emulator::InstructionDescriptor theirs = emulator::decodeInstruction({}, ours.encode());
        EXPECT_EQ(theirs.m, m);
        EXPECT_EQ(theirs.n, n);
        EXPECT_EQ(theirs.k, 16u);
        EXPECT_EQ(theirs.a, emulator::MmaElement::BF16);
        EXPECT_EQ(theirs.d, emulator::MmaResult::F32);
        EXPECT_EQ(theirs.aMajor == emulator::Major::MN, transposed);
        EXPECT_EQ(theirs.bMajor == emulator::Major::MN, !transposed);
      }
}

TEST(AgainstEmulator, TensorMemoryPlaces) {
  const std::pair<TmemShape, emulator::TmemShape> shapes[] = {
      {TmemShape::S32x32b, emulator::TmemShape::S32x32b},
      {TmemShape::S16x64b, emulator::TmemShape::S16x64b},
      {TmemShape::S16x128b, emulator::TmemShape::S16x128b},
      {TmemShape::S16x256b, emulator::TmemShape::S16x256b}};
  for (auto [ours, theirs] : shapes) {
    emulator::TmemAccess access{theirs, 8};
    ASSERT_EQ(emulator::registerCount(access), registersOf(ours, 8));
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t r = 0; r < registersOf(ours, 8); ++r) {
        emulator::TmemCell cell = emulator::cellOf(access, t, r);
        EXPECT_EQ(loadCell(ours, t, r), (TmemCell{cell.lane, cell.column}));
      }
  }
  for (uint32_t m : {64u, 128u})
    for (uint32_t row = 0; row < m; ++row) {
      emulator::MmaPlace place = emulator::placeOfD({}, m, 64, row, 33);
      EXPECT_EQ(accumulatorCell(dataPathOf(m), row, 33), (TmemCell{place.lane, place.column}));
    }
}

// Two chained products as the Hopper kernel issues them: S = Q·Kᵀ from shared memory, O = S·V with
// S from registers (values stay exact in bf16), O through stmatrix and a TMA store.
TEST(AgainstEmulator, HopperProducts) {
  for (uint32_t d : headDims) {
    SmemTile tile(64, d, 2);
    Matrix q = Matrix::random(64, d, 1), k = Matrix::random(64, d, 2), v = Matrix::random(64, d, 3);
    for (uint32_t r = 0; r < 64; ++r) // few non-zeros, so that S is exact in bf16
      for (uint32_t c = 0; c < d; ++c)
        if ((r + c) % 16)
          q.at(r, c) = 0;
    Shared smem(3 * tile.bytes());
    const uint32_t at[3] = {0, tile.bytes(), 2 * tile.bytes()};
    loadTile(tile, q, smem, at[0]);
    loadTile(tile, k, smem, at[1]);
    loadTile(tile, v, smem, at[2]);

    MatrixOperand rows = describeOperand(tile, Major::K), values = describeOperand(tile, Major::MN);
    auto descriptor = [&](const MatrixOperand &op, uint32_t base, size_t step) {
      return (op.descriptor.encode(TensorCore::Wgmma) | encodeAddress(base)) +
             encodeAddress(op.stepOffsets[step]);
    };
    Registers s(4, 32), p(4, 16), o(4, d / 2);
    emulator::WgmmaForm qk;
    qk.n = 64;
    for (size_t step = 0; step < rows.stepOffsets.size(); ++step)
      emulator::execute(qk, smem.span(), descriptor(rows, at[0], step), nullptr,
                        descriptor(rows, at[1], step), step > 0, s.view.data());
    Matrix product(64, 64), result(64, d);
    for (uint32_t i = 0; i < 64; ++i)
      for (uint32_t j = 0; j < 64; ++j)
        for (uint32_t c = 0; c < d; ++c)
          product.at(i, j) += q.at(i, c) * k.at(j, c);
    for (uint32_t t = 0; t < 128; ++t) {
      for (uint32_t r = 0; r < 32; ++r) {
        Element e = wgmmaAccumulatorElement(t, r);
        ASSERT_EQ(s.f(t, r), product.at(e.row, e.col)) << "S, head dim " << d;
      }
      for (uint32_t step = 0; step < 4; ++step)
        for (uint32_t reg = 0; reg < 4; ++reg) {
          uint32_t first = accumulatorPairOf(step, reg);
          p.at(t, 4 * step + reg) = pack(s.f(t, first), s.f(t, first + 1));
        }
    }
    emulator::WgmmaForm pv;
    pv.n = d;
    pv.aInRegisters = true;
    pv.transB = true;
    for (size_t step = 0; step < values.stepOffsets.size(); ++step) {
      std::vector<emulator::WarpRegister> a;
      for (uint32_t w = 0; w < 4; ++w)
        for (uint32_t reg = 0; reg < 4; ++reg)
          a.push_back(p.warp(w)[4 * step + reg]);
      emulator::execute(pv, smem.span(), 0, a.data(), descriptor(values, at[2], step), step > 0,
                        o.view.data());
    }
    for (uint32_t i = 0; i < 64; ++i)
      for (uint32_t c = 0; c < d; ++c)
        for (uint32_t j = 0; j < 64; ++j)
          result.at(i, c) += product.at(i, j) * v.at(j, c);

    Registers packed(4, d / 4);
    for (uint32_t t = 0; t < 128; ++t)
      for (uint32_t i = 0; i < d / 4; ++i)
        packed.at(t, i) = pack(o.f(t, 2 * i), o.f(t, 2 * i + 1));
    emulator::MatrixForm x4;
    x4.count = 4;
    for (uint32_t w = 0; w < 4; ++w)
      for (uint32_t step = 0; step < d / 16; ++step) {
        uint32_t address[32];
        for (uint32_t l = 0; l < 32; ++l)
          address[l] = at[0] +
                       (MatrixAddress::laneOffset(tile, MatrixOrder::RowsFirst, l, 16 * w) ^
                        MatrixAddress::xorBytes(tile, 16 * step)) +
                       MatrixAddress::addBytes(tile, 0, 16 * step);
        emulator::stmatrix(x4, smem.span(), address, packed.warp(w) + 4 * step);
      }
    MatrixMemory out(Matrix(64, d));
    for (const TmaBox &box : tile.panelBoxes(0, 64))
      emulator::storeBox(mapOf(tile, box), positionOf(box), out, smem.span(),
                         at[0] + box.smemOffset);
    for (size_t i = 0; i < result.v.size(); ++i)
      ASSERT_EQ(out.element(i), emulator::bf16ToFloat(emulator::floatToBf16(result.v[i])))
          << "O, head dim " << d << " element " << i;
  }
}

// The same two products as the Blackwell kernel issues them: S and O in tensor memory, P over S.
TEST(AgainstEmulator, BlackwellProducts) {
  for (uint32_t m : {64u, 128u})
    for (uint32_t d : headDims) {
      if (m + d > tmemColumns || 3 * m * d * 2 > 227 * 1024)
        continue;
      SmemTile tile(m, d, 2);
      Matrix q = Matrix::random(m, d, 4), k = Matrix::random(m, d, 5), v = Matrix::random(m, d, 6);
      for (uint32_t r = 0; r < m; ++r)
        for (uint32_t c = 0; c < d; ++c)
          if ((r + c) % 16)
            q.at(r, c) = 0;
      Shared smem(3 * tile.bytes());
      const uint32_t at[3] = {0, tile.bytes(), 2 * tile.bytes()};
      loadTile(tile, q, smem, at[0]);
      loadTile(tile, k, smem, at[1]);
      loadTile(tile, v, smem, at[2]);
      auto tmem = std::make_unique<emulator::Tmem>();
      uint32_t s = *tmem->allocate(tmemAllocation(m + d)), o = s + m;
      emulator::MmaCta cta[2];
      cta[0] = {tmem.get(), smem.span()};

      MatrixOperand rows = describeOperand(tile, Major::K),
                    values = describeOperand(tile, Major::MN);
      auto descriptor = [&](const MatrixOperand &op, uint32_t base, size_t step) {
        return (op.descriptor.encode(TensorCore::Tcgen05) | encodeAddress(base)) +
               encodeAddress(op.stepOffsets[step]);
      };
      InstructionDescriptor idesc;
      idesc.m = idesc.n = m;
      for (size_t step = 0; step < rows.stepOffsets.size(); ++step) {
        emulator::MmaOperands operands;
        operands.d = s;
        operands.a = descriptor(rows, at[0], step);
        operands.b = descriptor(rows, at[1], step);
        operands.idesc = idesc.encode();
        operands.accumulate = step > 0;
        emulator::execute({}, operands, cta);
      }
      // P = S in bf16, two a cell, through the registers that the kernels use.
      const bool wide = m == 128;
      emulator::TmemAccess in{wide ? emulator::TmemShape::S32x32b : emulator::TmemShape::S16x256b,
                              wide ? m : m / 8};
      emulator::TmemAccess out{wide ? emulator::TmemShape::S32x32b : emulator::TmemShape::S16x128b,
                               wide ? m / 2 : m / 8};
      for (uint32_t w = 0; w < 4; ++w) {
        Registers f(1, emulator::registerCount(in)), p(1, emulator::registerCount(out));
        ASSERT_EQ(f.count, 2 * p.count);
        emulator::load(*tmem, in, s + tmemAddress(32 * w, 0), w, f.warp(0));
        for (uint32_t t = 0; t < 32; ++t)
          for (uint32_t i = 0; i < p.count; ++i)
            p.at(t, i) = pack(f.f(t, 2 * i), f.f(t, 2 * i + 1));
        emulator::store(*tmem, out, s + tmemAddress(32 * w, 0), w, p.warp(0));
      }
      idesc.n = d;
      idesc.transposeB = true;
      emulator::MmaForm ts;
      ts.aInTmem = true;
      for (size_t step = 0; step < values.stepOffsets.size(); ++step) {
        emulator::MmaOperands operands;
        operands.d = o;
        operands.a = s + step * operandAColumnsPerStep;
        operands.b = descriptor(values, at[2], step);
        operands.idesc = idesc.encode();
        operands.accumulate = step > 0;
        emulator::execute(ts, operands, cta);
      }
      for (uint32_t i = 0; i < m; ++i) {
        std::vector<float> product(m);
        for (uint32_t j = 0; j < m; ++j)
          for (uint32_t c = 0; c < d; ++c)
            product[j] += q.at(i, c) * k.at(j, c);
        for (uint32_t c = 0; c < d; ++c) {
          float expected = 0;
          for (uint32_t j = 0; j < m; ++j)
            expected += product[j] * v.at(j, c);
          TmemCell cell = accumulatorCell(dataPathOf(m), i, c);
          ASSERT_EQ(emulator::bitsToFloat(tmem->row(cell.lane)[tmemColumn(o) + cell.column]),
                    expected)
              << "M " << m << " D " << d << " row " << i << " column " << c;
        }
      }
    }
}
