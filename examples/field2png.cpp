// SPDX-License-Identifier: BSD-3-Clause
// Draws a field of n x n doubles as a PNG, black over red and yellow to white.
//   field2png <field file> <png file>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

std::vector<double> read_field(const char* path) {
  std::vector<double> field;
  std::FILE* f = std::fopen(path, "rb");
  if (!f) return field;
  double chunk[1024];
  for (std::size_t n; (n = std::fread(chunk, sizeof(double), 1024, f)) > 0;)
    field.insert(field.end(), chunk, chunk + n);
  std::fclose(f);
  return field;
}

png_byte channel(double heat, double from) {
  return static_cast<png_byte>(255 * std::clamp((heat - from) * 3, 0.0, 1.0));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: field2png <field> <png>\n"), 2;
  const std::vector<double> field = read_field(argv[1]);
  const auto n = static_cast<png_uint_32>(std::lround(std::sqrt(static_cast<double>(field.size()))));
  if (n == 0 || std::size_t{n} * n != field.size()) return std::fprintf(stderr, "%s is no square field\n", argv[1]), 1;
  const double hottest = std::max(*std::max_element(field.begin(), field.end()), 1e-300);
  std::vector<png_byte> pixels;
  for (const double v : field) {
    const double heat = v / hottest;
    for (const double from : {0.0, 1.0 / 3, 2.0 / 3}) pixels.push_back(channel(heat, from));
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = image.height = n;
  image.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&image, argv[2], 0, pixels.data(), 0, nullptr)) {
    return std::fprintf(stderr, "%s: %s\n", argv[2], image.message), 1;
  }
  return 0;
}
