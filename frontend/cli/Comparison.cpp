// frontend/cli/Comparison.cpp - errors, signal-to-noise, and the elements that should or should not be there.
#include "frontend/cli/Comparison.h"
#include "frontend/cli/Elements.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace fovea {

namespace {

std::string indexText(int64_t flat, const std::vector<int64_t> &shape) {
  std::string text;
  for (size_t i = shape.size(); i-- > 0;) {
    text = std::to_string(flat % shape[i]) + (text.empty() ? "" : ", ") + text;
    flat /= shape[i];
  }
  return "[" + text + "]";
}

std::string number(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return text;
}

bool isPoison(const std::string &bytes, int64_t index, int size) {
  for (int i = 0; i < size; ++i)
    if (static_cast<unsigned char>(bytes[index * size + i]) != kPoisonByte)
      return false;
  return true;
}

/// Sums for a signal-to-noise ratio.
struct Noise {
  double signal = 0, noise = 0;
  void add(double exact, double error) {
    signal += exact * exact;
    noise += error * error;
  }
  double decibel() const {
    return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
  }
};

} // namespace

double roundingFloor(DType dtype, double largest) {
  int mantissaBits = dtype == DType::BF16 ? 7 : dtype == DType::F16 ? 10 : dtype == DType::E4M3 ? 3 : -1;
  if (mantissaBits < 0)
    return 4 * std::ldexp(1, -22) * std::max(1.0, largest);
  return largest > 0 ? std::ldexp(1, std::ilogb(largest) - mantissaBits - 1) : 0;
}

bool Comparison::passes() const {
  return unwritten == 0 && nans == 0 && strayWrites == 0 && maxError <= 2 * plainMaxError + floor;
}

Comparison compare(const ComparedOutput &output, const std::vector<int64_t> &shape) {
  Comparison result;
  result.name = output.name;
  int size = dtypeBytes(output.dtype);
  std::vector<double> actual = decodeElements(output.actual, output.dtype);
  if (actual.size() != output.exact.size() || output.plain.size() != output.exact.size() ||
      (!output.owned.empty() && output.owned.size() != output.exact.size())) {
    result.nans = 1;
    result.firstProblem = output.name + " has " + std::to_string(actual.size()) + " elements, the meaning has " +
                          std::to_string(output.exact.size());
    return result;
  }
  auto problem = [&](int64_t index, const std::string &text) {
    if (result.firstProblem.empty())
      result.firstProblem = output.name + indexText(index, shape) + " " + text;
  };
  Noise noise, plainNoise;
  double largest = 0;
  int64_t worst = -1;
  for (int64_t i = 0; i < int64_t(actual.size()); ++i) {
    double exact = output.exact[i];
    bool poison = isPoison(output.actual, i, size);
    if (!output.owned.empty() && !output.owned[i]) {
      if (!poison) {
        ++result.strayWrites;
        problem(i, "belongs to no sequence, but was written (" + number(actual[i]) + ")");
      }
      continue;
    }
    ++result.elements;
    if (poison) {
      ++result.unwritten;
      problem(i, "was not written; expected " + number(exact));
      continue;
    }
    if (!std::isfinite(exact) || !std::isfinite(actual[i])) {
      if (exact != actual[i] && !(std::isnan(exact) && std::isnan(actual[i]))) {
        ++result.nans;
        problem(i, "is " + number(actual[i]) + "; expected " + number(exact));
      }
      continue;
    }
    double error = std::fabs(actual[i] - exact), plainError = std::fabs(output.plain[i] - exact);
    if (error > result.maxError)
      worst = i;
    result.maxError = std::max(result.maxError, error);
    if (std::isfinite(plainError)) {
      result.plainMaxError = std::max(result.plainMaxError, plainError);
      plainNoise.add(exact, plainError);
    }
    noise.add(exact, error);
    largest = std::max(largest, std::fabs(exact));
  }
  result.largest = largest;
  result.floor = roundingFloor(output.dtype, largest);
  result.snrDb = noise.decibel();
  result.plainSnrDb = plainNoise.decibel();
  if (worst >= 0 && !result.passes())
    problem(worst, "is " + number(actual[worst]) + "; expected " + number(output.exact[worst]));
  return result;
}

void allowCancellation(std::vector<Comparison> &outputs) {
  double largest = 0;
  for (const Comparison &c : outputs)
    largest = std::max(largest, c.largest);
  for (Comparison &c : outputs)
    c.floor = std::max(c.floor, 16 * std::ldexp(1, -24) * largest);
}

std::string comparisonTable(const std::vector<Comparison> &comparisons) {
  std::string text;
  char line[256];
  int width = 10;
  for (const Comparison &c : comparisons)
    width = std::max(width, int(c.name.size()));
  snprintf(line, sizeof line, "%-*s %12s %12s %12s %12s %9s %9s  %s\n", width, "output", "elements", "max error",
           "plain 16-bit", "floor", "SNR dB", "plain dB", "");
  text += line;
  for (const Comparison &c : comparisons) {
    snprintf(line, sizeof line, "%-*s %12lld %12.3e %12.3e %12.3e %9.1f %9.1f  %s\n", width, c.name.c_str(),
             static_cast<long long>(c.elements), c.maxError, c.plainMaxError, c.floor, c.snrDb, c.plainSnrDb,
             c.passes() ? "ok" : "wrong");
    text += line;
  }
  for (const Comparison &c : comparisons) {
    if (!c.passes())
      text += "  " + c.firstProblem + "\n";
    if (c.unwritten || c.nans || c.strayWrites) {
      snprintf(line, sizeof line, "  %s: %lld not written, %lld not finite, %lld written outside every sequence\n",
               c.name.c_str(), static_cast<long long>(c.unwritten), static_cast<long long>(c.nans),
               static_cast<long long>(c.strayWrites));
      text += line;
    }
  }
  return text;
}

} // namespace fovea
