// The demo: heat spreading over a plate, solved by all ranks together, with communication hidden behind computation.
//
// Each rank owns a block of the plate and, for every step,
//   1. starts the exchange of its block's edges with its neighbours (MPI_Irecv, MPI_Isend),
//   2. computes the inside of its block, which needs no neighbour,
//   3. waits for the edges, and computes the rim,
//   4. starts adding up the residual with all ranks (MPI_Iallreduce) and looks at the sum ten steps later.
// With a library that only moves messages inside MPI calls, step 1 happens in step 3. Lapwing moves them during step 2.
//
// At the end rank 0 solves the same problem alone and compares every cell, and writes a picture.
//
// usage: heat [--cells N] [--steps N] [--picture FILE] [--no-check] [--summary FILE]
#include <mpi.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../include/lapwing.h"

namespace {

struct Options {
  int cells = 4096;  // per side of the square plate, borders included
  int steps = 300;
  std::string picture = "heat.png";
  std::string summary;
  bool check = true;
};

// A block of the plate with a rim of one cell around it, row by row.
class Field {
 public:
  Field(int rows, int columns)
      : rows_(rows),
        columns_(columns),
        cells_(static_cast<std::size_t>(rows + 2) * static_cast<std::size_t>(columns + 2)) {}
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  // Row and column from 0 (the rim) to rows() + 1, columns() + 1.
  double& at(int row, int column) {
    return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_ + 2) +
                  static_cast<std::size_t>(column)];
  }
  double at(int row, int column) const { return const_cast<Field*>(this)->at(row, column); }

 private:
  int rows_, columns_;
  std::vector<double> cells_;
};

// The plate at the beginning: cold, with hot spots; its border is held at a temperature that varies along it.
double initial(int row, int column, int cells) {
  const double x = static_cast<double>(column) / (cells - 1), y = static_cast<double>(row) / (cells - 1);
  if (row == 0 || column == 0 || row == cells - 1 || column == cells - 1)
    return 0.5 + 0.5 * std::sin(9.0 * x) * std::cos(7.0 * y);
  const auto spot = [&](double cx, double cy, double radius) {
    return std::hypot(x - cx, y - cy) < radius ? 1.0 : 0.0;
  };
  return std::max({spot(0.3, 0.35, 0.12), spot(0.7, 0.6, 0.18), spot(0.25, 0.8, 0.07)});
}

// One step of the explicit scheme for rows [top, bottom] and columns [left, right]; returns the sum of squared changes.
double step(const Field& now, Field& next, int top, int bottom, int left, int right) {
  constexpr double kConductivity = 0.2;
  double change = 0;
  for (int i = top; i <= bottom; ++i) {
    const double *above = &const_cast<Field&>(now).at(i - 1, 0), *here = &const_cast<Field&>(now).at(i, 0),
                 *below = &const_cast<Field&>(now).at(i + 1, 0);
    double* out = &next.at(i, 0);
    for (int j = left; j <= right; ++j) {
      const double delta = kConductivity * (above[j] + below[j] + here[j - 1] + here[j + 1] - 4 * here[j]);
      out[j] = here[j] + delta;
      change += delta * delta;
    }
  }
  return change;
}

void progress_bar(int done, int all, double residual) {
  constexpr int kWidth = 40;
  const int filled = kWidth * done / all;
  std::fprintf(stderr, "\r  [%s%s] step %d of %d, residual %.3e ",
               std::string(static_cast<std::size_t>(filled), '#').c_str(),
               std::string(static_cast<std::size_t>(kWidth - filled), '.').c_str(), done, all, residual);
  if (done == all) std::fputc('\n', stderr);
}

struct Times {
  double whole = 0;    // seconds of the solver's loop
  double waiting = 0;  // of these: inside MPI_Waitall and MPI_Wait
  double calling = 0;  // of these: inside the calls that start something
};

// This rank's block of the plate, and its neighbours.
class Solver {
 public:
  explicit Solver(const Options& options) : options_(options) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims_.data());
    const int periodic[2] = {0, 0};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims_.data(), periodic, 1, &grid_);
    MPI_Comm_rank(grid_, &rank_);
    MPI_Cart_coords(grid_, rank_, 2, coordinates_.data());
    MPI_Cart_shift(grid_, 0, 1, &up_, &down_);
    MPI_Cart_shift(grid_, 1, 1, &left_, &right_);
    const int inner = options.cells - 2;
    for (int d = 0; d < 2; ++d) {
      first_[d] = 1 + static_cast<int>(static_cast<long>(inner) * coordinates_[d] / dims_[d]);
      count_[d] = 1 + static_cast<int>(static_cast<long>(inner) * (coordinates_[d] + 1) / dims_[d]) - first_[d];
    }
    now_ = std::make_unique<Field>(count_[0], count_[1]);
    next_ = std::make_unique<Field>(count_[0], count_[1]);
    for (int i = 0; i <= count_[0] + 1; ++i)
      for (int j = 0; j <= count_[1] + 1; ++j)
        now_->at(i, j) = next_->at(i, j) = initial(first_[0] + i - 1, first_[1] + j - 1, options.cells);
    MPI_Type_vector(count_[0], 1, count_[1] + 2, MPI_DOUBLE, &column_);
    MPI_Type_commit(&column_);
  }
  ~Solver() {
    MPI_Type_free(&column_);
    MPI_Comm_free(&grid_);
  }

  Times run() {
    constexpr int kResidualEvery = 10;
    Times times;
    double change = 0, residual = 0;
    MPI_Request reduction = MPI_REQUEST_NULL;
    MPI_Barrier(grid_);
    const double began = MPI_Wtime();
    for (int n = 1; n <= options_.steps; ++n) {
      std::array<MPI_Request, 8> requests;
      double mark = MPI_Wtime();
      start_exchange(requests);
      times.calling += MPI_Wtime() - mark;
      const int rows = count_[0], columns = count_[1];
      double sum = step(*now_, *next_, 2, rows - 1, 2, columns - 1);
      mark = MPI_Wtime();
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
      times.waiting += MPI_Wtime() - mark;
      sum += step(*now_, *next_, 1, 1, 1, columns) + step(*now_, *next_, rows, rows, 1, columns);
      sum += step(*now_, *next_, 2, rows - 1, 1, 1) + step(*now_, *next_, 2, rows - 1, columns, columns);
      std::swap(now_, next_);
      if (n % kResidualEvery == 0) {
        mark = MPI_Wtime();
        MPI_Wait(&reduction, MPI_STATUS_IGNORE);
        times.waiting += MPI_Wtime() - mark;
        if (rank_ == 0 && n > kResidualEvery) progress_bar(n, options_.steps, std::sqrt(residual));
        change = sum;
        MPI_Iallreduce(&change, &residual, 1, MPI_DOUBLE, MPI_SUM, grid_, &reduction);
      }
    }
    MPI_Wait(&reduction, MPI_STATUS_IGNORE);
    times.whole = MPI_Wtime() - began;
    return times;
  }

  // The same exchange with nothing to hide behind: seconds for one.
  double exchange_alone() {
    constexpr int kRounds = 50;
    MPI_Barrier(grid_);
    const double began = MPI_Wtime();
    for (int i = 0; i < kRounds; ++i) {
      std::array<MPI_Request, 8> requests;
      start_exchange(requests);
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
    return (MPI_Wtime() - began) / kRounds;
  }

  // All blocks put together on rank 0 (empty elsewhere), row by row.
  std::vector<double> gather() {
    const int cells = options_.cells;
    MPI_Datatype inside;
    const int sizes[2] = {count_[0] + 2, count_[1] + 2}, starts[2] = {1, 1};
    MPI_Type_create_subarray(2, sizes, count_, starts, MPI_ORDER_C, MPI_DOUBLE, &inside);
    MPI_Type_commit(&inside);
    MPI_Request sent;
    MPI_Isend(&now_->at(0, 0), 1, inside, 0, 7, grid_, &sent);
    std::vector<double> plate;
    if (rank_ == 0) {
      plate.resize(static_cast<std::size_t>(cells) * static_cast<std::size_t>(cells));
      for (int i = 0; i < cells; ++i)
        for (int j = 0; j < cells; ++j)
          plate[static_cast<std::size_t>(i) * static_cast<std::size_t>(cells) + static_cast<std::size_t>(j)] =
              initial(i, j, cells);
      for (int peer = 0; peer < dims_[0] * dims_[1]; ++peer) receive_block(peer, plate);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Type_free(&inside);
    return plate;
  }

  int rank() const { return rank_; }
  MPI_Comm communicator() const { return grid_; }

 private:
  void start_exchange(std::array<MPI_Request, 8>& requests) {
    const int rows = count_[0], columns = count_[1];
    MPI_Irecv(&now_->at(0, 1), columns, MPI_DOUBLE, up_, 1, grid_, &requests[0]);
    MPI_Irecv(&now_->at(rows + 1, 1), columns, MPI_DOUBLE, down_, 2, grid_, &requests[1]);
    MPI_Irecv(&now_->at(1, 0), 1, column_, left_, 3, grid_, &requests[2]);
    MPI_Irecv(&now_->at(1, columns + 1), 1, column_, right_, 4, grid_, &requests[3]);
    MPI_Isend(&now_->at(1, 1), columns, MPI_DOUBLE, up_, 2, grid_, &requests[4]);
    MPI_Isend(&now_->at(rows, 1), columns, MPI_DOUBLE, down_, 1, grid_, &requests[5]);
    MPI_Isend(&now_->at(1, 1), 1, column_, left_, 4, grid_, &requests[6]);
    MPI_Isend(&now_->at(1, columns), 1, column_, right_, 3, grid_, &requests[7]);
  }

  void receive_block(int peer, std::vector<double>& plate) const {
    const int inner = options_.cells - 2;
    int at[2], first[2], count[2];
    MPI_Cart_coords(grid_, peer, 2, at);
    for (int d = 0; d < 2; ++d) {
      first[d] = 1 + static_cast<int>(static_cast<long>(inner) * at[d] / dims_[d]);
      count[d] = 1 + static_cast<int>(static_cast<long>(inner) * (at[d] + 1) / dims_[d]) - first[d];
    }
    const int sizes[2] = {options_.cells, options_.cells};
    MPI_Datatype block;
    MPI_Type_create_subarray(2, sizes, count, first, MPI_ORDER_C, MPI_DOUBLE, &block);
    MPI_Type_commit(&block);
    MPI_Recv(plate.data(), 1, block, peer, 7, grid_, MPI_STATUS_IGNORE);
    MPI_Type_free(&block);
  }

  const Options& options_;
  MPI_Comm grid_ = MPI_COMM_NULL;
  MPI_Datatype column_ = MPI_DATATYPE_NULL;
  int rank_ = 0, up_ = 0, down_ = 0, left_ = 0, right_ = 0;
  std::array<int, 2> dims_{}, coordinates_{};
  int first_[2] = {}, count_[2] = {};
  std::unique_ptr<Field> now_, next_;
};

std::vector<double> solve_alone(const Options& options) {
  const int inner = options.cells - 2;
  Field now(inner, inner), next(inner, inner);
  for (int i = 0; i < options.cells; ++i)
    for (int j = 0; j < options.cells; ++j) now.at(i, j) = next.at(i, j) = initial(i, j, options.cells);
  for (int n = 1; n <= options.steps; ++n) {
    step(now, next, 1, inner, 1, inner);
    std::swap(now, next);
    if (n % 20 == 0 || n == options.steps)
      std::fprintf(stderr, "\r  checking against the serial solution: %3d %%", 100 * n / options.steps);
  }
  std::fputc('\n', stderr);
  std::vector<double> plate;
  plate.reserve(static_cast<std::size_t>(options.cells) * static_cast<std::size_t>(options.cells));
  for (int i = 0; i < options.cells; ++i)
    for (int j = 0; j < options.cells; ++j) plate.push_back(now.at(i, j));
  return plate;
}

// From black through red and yellow to white.
std::array<unsigned char, 3> colour(double heat) {
  const auto part = [&](double from) {
    return static_cast<unsigned char>(255 * std::clamp((heat - from) * 3, 0.0, 1.0));
  };
  return {part(0.0), part(1.0 / 3), part(2.0 / 3)};
}

bool write_picture(const std::string& path, const std::vector<double>& plate, int cells) {
  const int side = std::min(cells, 768);
  std::vector<unsigned char> pixels;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      const auto at = [&](int k) { return static_cast<std::size_t>(static_cast<long>(k) * cells / side); };
      for (unsigned char part : colour(plate[at(i) * static_cast<std::size_t>(cells) + at(j)])) pixels.push_back(part);
    }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = image.height = static_cast<png_uint_32>(side);
  image.format = PNG_FORMAT_RGB;
  return png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr) != 0;
}

// `progress`: of the run alone.
void report(const Options& options, const Times& times, const LAPWING_Progress& progress, double alone,
            Solver& solver) {
  double mine[5] = {times.whole, times.waiting, times.calling, static_cast<double>(progress.bytes_moved),
                    static_cast<double>(progress.bytes_overlapped)};
  double sum[5];
  int size;
  MPI_Comm_size(solver.communicator(), &size);
  MPI_Reduce(mine, sum, 5, MPI_DOUBLE, MPI_SUM, 0, solver.communicator());
  if (solver.rank() != 0) return;
  const double hidden = sum[3] > 0 ? 100 * sum[4] / sum[3] : 0;
  std::printf("  %d ranks, %d x %d cells, %d steps: %.2f s; one exchange alone takes %.0f us\n", size, options.cells,
              options.cells, options.steps, sum[0] / size, 1e6 * alone);
  std::printf("  waiting for messages: %.1f %% of the time; calls that start them: %.1f %%\n", 100 * sum[1] / sum[0],
              100 * sum[2] / sum[0]);
  std::printf("  communication hidden: %.1f %% of %.1f MB moved while the program computed\n", hidden, sum[3] / 1e6);
  if (options.summary.empty()) return;
  if (FILE* file = std::fopen(options.summary.c_str(), "w")) {
    std::fprintf(file, "%.2f %.1f %.1f\n", sum[0] / size, 100 * sum[1] / sum[0], hidden);
    std::fclose(file);
  }
}

int parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> const char* { return i + 1 < argc ? argv[++i] : ""; };
    if (word == "--cells")
      options.cells = std::atoi(value());
    else if (word == "--steps")
      options.steps = std::atoi(value());
    else if (word == "--picture")
      options.picture = value();
    else if (word == "--summary")
      options.summary = value();
    else if (word == "--no-check")
      options.check = false;
    else {
      std::fprintf(stderr,
                   "heat: unknown option %s\nusage: heat [--cells N] [--steps N] [--picture FILE] [--no-check] "
                   "[--summary FILE]\n",
                   word.c_str());
      return 2;
    }
  }
  if (options.cells < 64 || options.cells > 30000 || options.steps < 1) {
    std::fprintf(stderr, "heat: --cells must be from 64 to 30000, --steps at least 1\n");
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const int code = parse(argc, argv, options); code != 0) return code;
  MPI_Init(&argc, &argv);
  int verdict = 0;
  {
    Solver solver(options);
    const Times times = solver.run();
    LAPWING_Progress progress{};
    LAPWING_Get_progress(&progress);  // before the exchanges alone, beside which nothing is computed
    const double alone = solver.exchange_alone();
    report(options, times, progress, alone, solver);
    const std::vector<double> plate = solver.gather();
    if (solver.rank() == 0) {
      if (options.check) {
        const bool equal = plate == solve_alone(options);
        std::printf("  result: %s\n",
                    equal ? "equal to the serial solution in every cell" : "DIFFERS from the serial solution");
        verdict = equal ? 0 : 1;
      }
      if (!options.picture.empty()) {
        if (write_picture(options.picture, plate, options.cells))
          std::printf("  picture: %s\n", options.picture.c_str());
        else
          std::fprintf(stderr, "heat: cannot write %s\n", options.picture.c_str()), verdict = 1;
      }
    }
    MPI_Bcast(&verdict, 1, MPI_INT, 0, solver.communicator());
  }
  MPI_Finalize();
  return verdict;
}
