// mlp.cpp -- a small network trained by stochastic gradient descent on the CPU.
//
// Network    4 inputs -> 4 (softmax) -> 5 (ReLU) -> 5 (tanh) -> 1 (sigmoid): the probability of class 1.
// Loss       cross-entropy of one sample; its gradient after the sigmoid is p - y.
// Parameters float32, 81 numbers: for each layer its weights, row-major (outputs, inputs), then its biases.
// Samples    x: float32, shape (samples, 4); y: float32, shape (samples,), 0 or 1.
// Checked    by tests against float64 finite differences of helpers.problems.mlp.loss.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

enum Activation { SOFTMAX, RELU, TANH, SIGMOID };
struct Layer { int inputs, outputs, weights, biases; Activation activation; };  // weights, biases: where they begin
constexpr int LAYERS = 4, INPUTS = 4, WIDEST = 5, PARAMETERS = 81;
constexpr Layer layers[LAYERS] = {
    {4, 4, 0, 16, SOFTMAX}, {4, 5, 20, 40, RELU}, {5, 5, 45, 70, TANH}, {5, 1, 75, 80, SIGMOID}};

// ---- the two inner loops, UNROLL elements at a time; the second loop of each is the tail ----

template <int UNROLL>
inline float dot(const float* a, const float* b, int n) {
    float sum[UNROLL] = {};
    int i = 0;
    for (; i + UNROLL <= n; i += UNROLL)
        for (int u = 0; u < UNROLL; ++u) sum[u] += a[i + u] * b[i + u];
    for (; i < n; ++i) sum[0] += a[i] * b[i];
    for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
    return sum[0];
}

template <int UNROLL>
inline void add_scaled(float* __restrict y, float scale, const float* __restrict x, int n) {
    int i = 0;
    for (; i + UNROLL <= n; i += UNROLL)
        for (int u = 0; u < UNROLL; ++u) y[i + u] += scale * x[i + u];
    for (; i < n; ++i) y[i] += scale * x[i];
}

// ---- where time goes: Untimed costs nothing, Timed reads the clock at the end of every phase ----

enum Phase { FORWARD, ACTIVATIONS, BACKWARD, UPDATE, PHASES };
using Clock = std::chrono::steady_clock;

struct Untimed {
    void start() {}
    void end(Phase) {}
};

struct Timed {
    double nanoseconds[PHASES] = {}, reads[PHASES] = {};
    Clock::time_point last;
    void start() { last = Clock::now(); }
    void end(Phase phase) {
        const auto now = Clock::now();
        nanoseconds[phase] += std::chrono::duration<double, std::nano>(now - last).count();
        reads[phase] += 1;
        last = now;
    }
};

// ---- one sample, forward and backward ----

struct Values { float output[LAYERS + 1][WIDEST], delta[LAYERS + 1][WIDEST]; };  // output[0] is the sample itself

inline void activate(Activation activation, float* z, int n) {
    float sum = 0;
    switch (activation) {
        case SOFTMAX: {
            const float top = *std::max_element(z, z + n);  // exp of the difference cannot overflow
            for (int i = 0; i < n; ++i) sum += z[i] = std::exp(z[i] - top);
            for (int i = 0; i < n; ++i) z[i] /= sum;
            break;
        }
        case RELU: for (int i = 0; i < n; ++i) z[i] = std::max(z[i], 0.0f); break;
        case TANH: for (int i = 0; i < n; ++i) z[i] = std::tanh(z[i]); break;
        case SIGMOID: for (int i = 0; i < n; ++i) z[i] = 1.0f / (1.0f + std::exp(-z[i])); break;
    }
}

// From d loss / d output to d loss / d sum, in place; every derivative is written in terms of the output a itself.
template <int UNROLL>
inline void through_activation(Activation activation, float* delta, const float* a, int n) {
    const float mean = activation == SOFTMAX ? dot<UNROLL>(delta, a, n) : 0.0f;
    for (int i = 0; i < n; ++i) {
        if (activation == SOFTMAX) delta[i] = a[i] * (delta[i] - mean);
        if (activation == RELU) delta[i] = a[i] > 0 ? delta[i] : 0.0f;
        if (activation == TANH) delta[i] *= 1.0f - a[i] * a[i];
    }  // SIGMOID: only the last layer has it, and there p - y is the whole of it
}

template <int UNROLL, class Watch>
inline float forward(const float* parameters, const float* x, Values& values, Watch& watch) {
    std::copy(x, x + INPUTS, values.output[0]);
    for (int l = 0; l < LAYERS; ++l) {
        const Layer& layer = layers[l];
        float* out = values.output[l + 1];
        for (int r = 0; r < layer.outputs; ++r)
            out[r] = parameters[layer.biases + r] +
                     dot<UNROLL>(parameters + layer.weights + r * layer.inputs, values.output[l], layer.inputs);
        watch.end(FORWARD);
        activate(layer.activation, out, layer.outputs);
        watch.end(ACTIVATIONS);
    }
    return values.output[LAYERS][0];
}

template <int UNROLL>
inline void backward(const float* parameters, float y, Values& values) {
    values.delta[LAYERS][0] = values.output[LAYERS][0] - y;
    for (int l = LAYERS - 1; l > 0; --l) {
        const Layer& layer = layers[l];
        float* before = values.delta[l];
        std::fill(before, before + layer.inputs, 0.0f);
        for (int r = 0; r < layer.outputs; ++r)
            add_scaled<UNROLL>(before, values.delta[l + 1][r], parameters + layer.weights + r * layer.inputs,
                               layer.inputs);
        through_activation<UNROLL>(layers[l - 1].activation, before, values.output[l], layer.inputs);
    }
}

// target += scale * gradient. With target = parameters and scale = -rate this is the step of gradient descent.
template <int UNROLL>
inline void add_gradient(float* target, float scale, const Values& values) {
    for (int l = 0; l < LAYERS; ++l) {
        const Layer& layer = layers[l];
        for (int r = 0; r < layer.outputs; ++r) {
            const float step = scale * values.delta[l + 1][r];
            add_scaled<UNROLL>(target + layer.weights + r * layer.inputs, step, values.output[l], layer.inputs);
            target[layer.biases + r] += step;
        }
    }
}

// ---- training ----

struct Random {  // splitmix64: the same order of samples with every compiler
    std::uint64_t state;
    std::uint64_t next() {
        std::uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
};

// `epochs` passes over samples [first, last), each in a new random order; one step per sample.
template <int UNROLL, class Watch>
void train(float* parameters, const float* x, const float* y, int first, int last, int epochs, float rate,
           Random& random, Watch& watch) {
    std::vector<int> order(last - first);
    std::iota(order.begin(), order.end(), first);
    Values values;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
        watch.start();
        for (int s : order) {
            forward<UNROLL>(parameters, x + s * INPUTS, values, watch);
            backward<UNROLL>(parameters, y[s], values);
            watch.end(BACKWARD);
            add_gradient<UNROLL>(parameters, -rate, values);
            watch.end(UPDATE);
        }
    }
}

template <int UNROLL>
void train_untimed(float* parameters, const float* x, const float* y, int first, int last, int epochs, float rate,
                   Random& random) {
    Untimed nothing;
    train<UNROLL>(parameters, x, y, first, last, epochs, rate, random, nothing);
}

extern "C" {

void mlp_predict(const float* parameters, const float* x, int samples, float* p) {
    Values values;
    Untimed nothing;
    for (int s = 0; s < samples; ++s) p[s] = forward<1>(parameters, x + s * INPUTS, values, nothing);
}

// gradient (81 numbers) = d loss / d parameters for one sample.
void mlp_gradient(const float* parameters, const float* x, float y, int unroll, float* gradient) {
    Values values;
    Untimed nothing;
    std::fill(gradient, gradient + PARAMETERS, 0.0f);
    forward<1>(parameters, x, values, nothing);
    switch (unroll) {
        case 2: backward<2>(parameters, y, values); add_gradient<2>(gradient, 1.0f, values); break;
        case 4: backward<4>(parameters, y, values); add_gradient<4>(gradient, 1.0f, values); break;
        case 8: backward<8>(parameters, y, values); add_gradient<8>(gradient, 1.0f, values); break;
        default: backward<1>(parameters, y, values); add_gradient<1>(gradient, 1.0f, values);
    }
}

void mlp_train(float* parameters, const float* x, const float* y, int samples, int epochs, float rate,
               std::uint64_t seed, int unroll) {
    Random random{seed};
    switch (unroll) {
        case 2: train_untimed<2>(parameters, x, y, 0, samples, epochs, rate, random); break;
        case 4: train_untimed<4>(parameters, x, y, 0, samples, epochs, rate, random); break;
        case 8: train_untimed<8>(parameters, x, y, 0, samples, epochs, rate, random); break;
        default: train_untimed<1>(parameters, x, y, 0, samples, epochs, rate, random);
    }
}

// As mlp_train with unroll 1, but the clock is read after every phase. nanoseconds, reads: 4 numbers each, by phase.
void mlp_profile(float* parameters, const float* x, const float* y, int samples, int epochs, float rate,
                 std::uint64_t seed, double* nanoseconds, double* reads) {
    Random random{seed};
    Timed watch;
    train<1>(parameters, x, y, 0, samples, epochs, rate, random, watch);
    std::copy(watch.nanoseconds, watch.nanoseconds + PHASES, nanoseconds);
    std::copy(watch.reads, watch.reads + PHASES, reads);
}

// What one reading of the clock costs, in nanoseconds: a profile must subtract it.
double clock_cost() {
    constexpr int READS = 100000;
    const auto begin = Clock::now();
    auto last = begin;
    for (int i = 0; i < READS; ++i) last = Clock::now();
    return std::chrono::duration<double, std::nano>(last - begin).count() / READS;
}

// Data-parallel: in each round every thread starts from the same parameters, trains `epochs` passes over its own share
// of the samples, and then all threads' parameters are averaged. The result does not depend on which thread ends first.
void mlp_train_threads(float* parameters, const float* x, const float* y, int samples, int rounds, int epochs,
                       float rate, std::uint64_t seed, int threads) {
    std::vector<std::vector<float>> own(threads, std::vector<float>(PARAMETERS));
    std::vector<Random> random;
    for (int t = 0; t < threads; ++t) random.push_back({seed + t});
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::thread> started;
        for (int t = 0; t < threads; ++t) {
            std::copy(parameters, parameters + PARAMETERS, own[t].begin());
            const int first = (long long)samples * t / threads, last = (long long)samples * (t + 1) / threads;
            started.emplace_back([=, &own, &random] {
                train_untimed<1>(own[t].data(), x, y, first, last, epochs, rate, random[t]);
            });
        }
        for (auto& thread : started) thread.join();
        for (int i = 0; i < PARAMETERS; ++i) {
            float sum = 0;
            for (int t = 0; t < threads; ++t) sum += own[t][i];
            parameters[i] = sum / threads;
        }
    }
}

// Starts and joins `threads` threads that do nothing, `rounds` times: what the launches alone cost.
void launch_threads(int rounds, int threads) {
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::thread> started;
        for (int t = 0; t < threads; ++t) started.emplace_back([] {});
        for (auto& thread : started) thread.join();
    }
}

}  // extern "C"
