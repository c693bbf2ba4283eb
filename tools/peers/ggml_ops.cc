// Times single operations of ggml's CPU backend as `slipstream bench` times ours: every run takes
// another buffer, together a gibibyte; numbers of rows take turns; each round begins with a pass
// over another gibibyte and an unmeasured run.
//
//   ggml_ops attention --shape 24x4x256 --context 20480 --layout tokens [common options]
//   ggml_ops product --matrix 17408x5120 --format q4_K --buffer AMX [common options]
//   common options: --rows 1,4,8 --threads 2 --seconds 4
//
// Attention is FLASH_ATTN_EXT over f16 keys and values; the rows are the last tokens of the
// context. Layout `tokens`: the heads of a token side by side, as llama.cpp keeps them; `heads`:
// the tokens of a head side by side. A product is MUL_MAT with the matrix in a buffer of the named
// type. Prints a JSON object for each number of rows. Exit status 3: ggml has no such buffer type
// here, or it does not take such a matrix.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

namespace {

constexpr int64_t kRotatedBytes = int64_t{1} << 30;  // larger than last-level caches
constexpr int kRoundsMin = 3;
constexpr int kExitUnsupported = 3;

[[noreturn]] void fail(int status, const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(status);
}

// Options of the command line by their names.
class Options {
 public:
  Options(int n_arguments, char** arguments) {
    if (n_arguments < 2 || n_arguments % 2 != 0)
      fail(2, "wanted an operation, then pairs of --option value");
    operation = arguments[1];
    for (int i = 2; i < n_arguments; i += 2) values_[arguments[i]] = arguments[i + 1];
  }

  const std::string& text(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) fail(2, "missing " + name);
    return found->second;
  }
  double number(const std::string& name) const { return std::stod(text(name)); }
  std::vector<int64_t> numbers(const std::string& name, char separator) const {
    std::vector<int64_t> found;
    std::istringstream in(text(name));
    for (std::string part; std::getline(in, part, separator);) found.push_back(std::stoll(part));
    return found;
  }

  std::string operation;

 private:
  std::map<std::string, std::string> values_;
};

// Random numbers from -1 to 1.
std::vector<float> random_floats(size_t n) {
  std::vector<float> values(n);
  uint64_t state = 1;
  for (float& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<int32_t>(state >> 32)) / 2147483648.0f;
  }
  return values;
}

// Tensors without memory, until `allocate`.
class Tensors {
 public:
  explicit Tensors(size_t n_tensors_max)
      : context_(
            ggml_init({.mem_size = n_tensors_max * ggml_tensor_overhead() +
                                   n_tensors_max * ggml_graph_overhead_custom(kGraphNodes, false),
                       .mem_buffer = nullptr,
                       .no_alloc = true})) {}

  ggml_context* context() { return context_.get(); }

  void allocate(ggml_backend_buffer_type_t type) {
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context(), type));
    if (!buffer_) fail(1, "out of memory");
  }

  // The graph that ends in `result`, whose values go to `output`.
  ggml_cgraph* graph(ggml_tensor* result, ggml_tensor* output) {
    result->data = output->data;
    result->buffer = output->buffer;
    ggml_cgraph* graph = ggml_new_graph_custom(context(), kGraphNodes, false);
    ggml_build_forward_expand(graph, result);
    return graph;
  }

 private:
  static constexpr size_t kGraphNodes = 16;
  struct Free {
    void operator()(ggml_context* context) const { ggml_free(context); }
    void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
  };
  std::unique_ptr<ggml_context, Free> context_;
  std::unique_ptr<ggml_backend_buffer, Free> buffer_;
};

void set_floats(ggml_tensor* tensor) {
  const std::vector<float> values = random_floats(static_cast<size_t>(ggml_nelements(tensor)));
  ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
}

int64_t n_rotated(size_t n_bytes) {
  return std::clamp<int64_t>(kRotatedBytes / static_cast<int64_t>(n_bytes), 2, 64);
}

// Of one number of rows: the same operation on each of the rotated buffers.
struct Arm {
  int64_t n_rows;
  std::vector<ggml_cgraph*> graphs = {};
  std::vector<double> ms = {};
};

// Values of the context up to a row's own token count as 0, later ones as minus infinity.
std::vector<ggml_fp16_t> causal_mask(int64_t n_tokens, int64_t n_rows) {
  std::vector<ggml_fp16_t> mask(static_cast<size_t>(n_tokens * n_rows), ggml_fp32_to_fp16(0));
  for (int64_t r = 0; r < n_rows; ++r) {
    const auto row_end = mask.begin() + (r + 1) * n_tokens;
    std::fill(row_end - (n_rows - 1 - r), row_end, ggml_fp32_to_fp16(-INFINITY));
  }
  return mask;
}

struct Setup {
  Tensors rotated{128}, inputs{256}, graphs{16384};
  std::vector<Arm> arms;
};

void set_up_attention(Setup& setup, const Options& options) {
  const std::vector<int64_t> shape = options.numbers("--shape", 'x');
  if (shape.size() != 3) fail(2, "--shape: wanted query heads x KV heads x head dim");
  const int64_t n_heads = shape[0], n_kv_heads = shape[1], head_dim = shape[2];
  const auto n_tokens = static_cast<int64_t>(options.number("--context"));
  const int64_t width = n_kv_heads * head_dim;

  std::vector<ggml_tensor*> caches;  // K and V of a layer, then those of the next
  const int64_t n_layers =
      n_rotated(2 * static_cast<size_t>(n_tokens * width) * sizeof(ggml_fp16_t));
  for (int64_t i = 0; i < 2 * n_layers; ++i)
    caches.push_back(ggml_new_tensor_2d(setup.rotated.context(), GGML_TYPE_F16, width, n_tokens));
  setup.rotated.allocate(ggml_backend_cpu_buffer_type());
  const std::vector<float> values = random_floats(static_cast<size_t>(n_tokens * width));
  std::vector<ggml_fp16_t> halves(values.size());
  ggml_fp32_to_fp16_row(values.data(), halves.data(), static_cast<int64_t>(values.size()));
  for (ggml_tensor* cache : caches)
    ggml_backend_tensor_set(cache, halves.data(), 0, ggml_nbytes(cache));

  struct Inputs {
    ggml_tensor *q, *mask, *output;
  };
  std::vector<Inputs> of_arms;
  ggml_context* const inputs = setup.inputs.context();
  for (const Arm& arm : setup.arms) {
    of_arms.push_back(
        {.q = ggml_new_tensor_3d(inputs, GGML_TYPE_F32, head_dim, n_heads, arm.n_rows),
         .mask = ggml_new_tensor_2d(inputs, GGML_TYPE_F16, n_tokens, arm.n_rows),
         .output = ggml_new_tensor_3d(inputs, GGML_TYPE_F32, head_dim, n_heads, arm.n_rows)});
  }
  setup.inputs.allocate(ggml_backend_cpu_buffer_type());

  ggml_context* const c = setup.graphs.context();
  const bool is_by_token = options.text("--layout") == "tokens";
  const auto by_head = [&](ggml_tensor* cache) {
    if (!is_by_token) return ggml_reshape_3d(c, cache, head_dim, n_tokens, n_kv_heads);
    return ggml_permute(c, ggml_reshape_3d(c, cache, head_dim, n_kv_heads, n_tokens), 0, 2, 1, 3);
  };
  for (size_t a = 0; a < setup.arms.size(); ++a) {
    const Inputs& of_arm = of_arms[a];
    set_floats(of_arm.q);
    const std::vector<ggml_fp16_t> mask = causal_mask(n_tokens, setup.arms[a].n_rows);
    ggml_backend_tensor_set(of_arm.mask, mask.data(), 0, ggml_nbytes(of_arm.mask));
    for (size_t layer = 0; layer < caches.size(); layer += 2) {
      ggml_tensor* result =
          ggml_flash_attn_ext(c, ggml_permute(c, of_arm.q, 0, 2, 1, 3), by_head(caches[layer]),
                              by_head(caches[layer + 1]), of_arm.mask,
                              1.0f / std::sqrt(static_cast<float>(head_dim)), 0, 0);
      setup.arms[a].graphs.push_back(setup.graphs.graph(result, of_arm.output));
    }
  }
}

ggml_backend_buffer_type_t find_buffer_type(ggml_backend_dev_t device, const std::string& name) {
  if (name == ggml_backend_buft_name(ggml_backend_cpu_buffer_type()))
    return ggml_backend_cpu_buffer_type();
  const auto extra_types =
      reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(ggml_backend_reg_get_proc_address(
          ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
  for (ggml_backend_buffer_type_t* type = extra_types(device); type != nullptr && *type != nullptr;
       ++type) {
    if (name == ggml_backend_buft_name(*type)) return *type;
  }
  fail(kExitUnsupported, "has no buffer type " + name + " here");
}

ggml_type find_type(const std::string& name) {
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const auto type = static_cast<ggml_type>(i);
    if (const char* of_type = ggml_type_name(type); of_type != nullptr && name == of_type)
      return type;
  }
  fail(2, "--format: ggml has no type " + name);
}

// A matrix of which rows repeat: quantising is slow.
std::vector<std::byte> random_matrix(ggml_type type, int64_t n_in, int64_t n_out) {
  const int64_t n_drawn = std::min<int64_t>(n_out, 64);
  const std::vector<float> values = random_floats(static_cast<size_t>(n_drawn * n_in));
  const size_t row_bytes = ggml_row_size(type, n_in);
  std::vector<std::byte> bytes(row_bytes * static_cast<size_t>(n_out));
  ggml_quantize_chunk(type, values.data(), bytes.data(), 0, n_drawn, n_in, nullptr);
  const size_t drawn_bytes = row_bytes * static_cast<size_t>(n_drawn);
  for (size_t i = drawn_bytes; i < bytes.size(); ++i) bytes[i] = bytes[i - drawn_bytes];
  return bytes;
}

// What an arm gives with the matrix in a plain buffer: other layouts have to give about the same.
void check_result(ggml_backend_t backend, const Arm& arm, const std::vector<std::byte>& matrix) {
  Tensors plain(8);
  const ggml_tensor* result = ggml_graph_node(arm.graphs.front(), 0);
  ggml_tensor* weight = ggml_dup_tensor(plain.context(), result->src[0]);
  ggml_tensor* output = ggml_dup_tensor(plain.context(), result);
  plain.allocate(ggml_backend_cpu_buffer_type());
  ggml_backend_tensor_set(weight, matrix.data(), 0, matrix.size());
  Tensors graphs(8);
  ggml_cgraph* expected =
      graphs.graph(ggml_mul_mat(graphs.context(), weight, result->src[1]), output);
  ggml_backend_graph_compute(backend, expected);
  ggml_backend_graph_compute(backend, arm.graphs.front());
  const auto* a = static_cast<const float*>(output->data);
  const auto* b = static_cast<const float*>(result->data);
  double difference = 0, size = 0;
  for (int64_t i = 0; i < ggml_nelements(output); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += a[i] * a[i];
  }
  constexpr double kMost = 0.02;  // inputs are rounded to 8 bits in groups of 32 or 256
  if (!(std::sqrt(difference / size) < kMost)) fail(1, "gives other results than the plain buffer");
}

void set_up_product(Setup& setup, const Options& options, ggml_backend_t backend) {
  ggml_backend_dev_t device = ggml_backend_get_device(backend);
  const std::vector<int64_t> matrix = options.numbers("--matrix", 'x');
  if (matrix.size() != 2) fail(2, "--matrix: wanted outputs x inputs");
  const int64_t n_out = matrix[0], n_in = matrix[1];
  const ggml_type type = find_type(options.text("--format"));

  std::vector<ggml_tensor*> weights;
  const int64_t n_weights = n_rotated(ggml_row_size(type, n_in) * static_cast<size_t>(n_out));
  for (int64_t i = 0; i < n_weights; ++i)
    weights.push_back(ggml_new_tensor_2d(setup.rotated.context(), type, n_in, n_out));
  setup.rotated.allocate(find_buffer_type(device, options.text("--buffer")));

  std::vector<ggml_tensor*> inputs, outputs;
  for (const Arm& arm : setup.arms) {
    inputs.push_back(ggml_new_tensor_2d(setup.inputs.context(), GGML_TYPE_F32, n_in, arm.n_rows));
    outputs.push_back(ggml_new_tensor_2d(setup.inputs.context(), GGML_TYPE_F32, n_out, arm.n_rows));
  }
  setup.inputs.allocate(ggml_backend_cpu_buffer_type());
  for (ggml_tensor* input : inputs) set_floats(input);

  for (size_t a = 0; a < setup.arms.size(); ++a) {
    for (ggml_tensor* weight : weights) {
      ggml_tensor* result = ggml_mul_mat(setup.graphs.context(), weight, inputs[a]);
      if (!ggml_backend_dev_supports_op(device, result))
        fail(kExitUnsupported,
             options.text("--buffer") + " does not take " + options.text("--format"));
      setup.arms[a].graphs.push_back(setup.graphs.graph(result, outputs[a]));
    }
  }
  const std::vector<std::byte> bytes = random_matrix(type, n_in, n_out);
  for (ggml_tensor* weight : weights)
    ggml_backend_tensor_set(weight, bytes.data(), 0, bytes.size());
  check_result(backend, setup.arms.back(), bytes);
}

// Milliseconds of one run of the arm on its next buffer.
double run(ggml_backend_t backend, const Arm& arm, size_t& turn) {
  const auto start = std::chrono::steady_clock::now();
  if (ggml_backend_graph_compute(backend, arm.graphs[turn++ % arm.graphs.size()]) !=
      GGML_STATUS_SUCCESS)
    fail(1, "ggml refused the graph");
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void measure(ggml_backend_t backend, std::vector<Arm>& arms, double seconds) {
  const std::vector<uint64_t> other_data(static_cast<size_t>(kRotatedBytes) / sizeof(uint64_t), 1);
  volatile uint64_t sink = 0;
  size_t turn = 0;
  for (const Arm& arm : arms)
    run(backend, arm, turn);  // pages and code are there before the first sample
  const auto start = std::chrono::steady_clock::now();
  const auto is_over = [&] {
    return std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds);
  };
  for (size_t round = 0; round < kRoundsMin || !is_over(); ++round) {
    sink = std::accumulate(other_data.begin(), other_data.end(), sink);
    run(backend, arms.front(), turn);
    for (size_t i = 0; i < arms.size(); ++i) {
      Arm& arm = arms[(round + i) % arms.size()];
      arm.ms.push_back(run(backend, arm, turn));
    }
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

void print(const Options& options, const std::vector<Arm>& arms) {
  const bool is_attention = options.operation == "attention";
  for (const Arm& arm : arms) {
    std::printf(
        R"({"bench":"%s","engine":"ggml","engine_version":"%s of %s","shape":"%s","context":%s,"format":"%s",)",
        options.operation.c_str(), ggml_version(), PEER_PACKAGE,
        options.text(is_attention ? "--shape" : "--matrix").c_str(),
        is_attention ? options.text("--context").c_str() : "0",
        is_attention ? "f16" : options.text("--format").c_str());
    std::printf(
        R"("kernel":"%s","threads":%s,"rows":%lld,"runs":%zu,"ms_median":%.6f,"ms_min":%.6f})"
        "\n",
        is_attention ? ("FLASH_ATTN_EXT over " + options.text("--layout")).c_str()
                     : options.text("--buffer").c_str(),
        options.text("--threads").c_str(), static_cast<long long>(arm.n_rows), arm.ms.size(),
        median(arm.ms), *std::ranges::min_element(arm.ms));
  }
}

}  // namespace

int main(int n_arguments, char** arguments) {
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  const Options options(n_arguments, arguments);
  Setup setup;
  for (const int64_t n_rows : options.numbers("--rows", ','))
    setup.arms.push_back({.n_rows = n_rows});
  ggml_backend_t backend = ggml_backend_cpu_init();
  ggml_backend_cpu_set_n_threads(backend, static_cast<int>(options.number("--threads")));
  if (options.operation == "attention") {
    set_up_attention(setup, options);
  } else if (options.operation == "product") {
    set_up_product(setup, options, backend);
  } else {
    fail(2, "wanted attention or product, found " + options.operation);
  }
  measure(backend, setup.arms, options.number("--seconds"));
  print(options, setup.arms);
  ggml_backend_free(backend);
  return 0;
}
