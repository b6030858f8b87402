// device_function_templates.cu -- templates of device functions, a functor and a constexpr table size
//
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform
// result: y = np.maximum(3 * x, x * x)

constexpr int WIDTH = 64;

struct Scale {
    float factor;
    __device__ float operator()(float v) const { return factor * v; }
};

template <int POWER> __device__ float power(float v)
{
    float product = 1.0f;
#pragma unroll
    for (int k = 0; k < POWER; ++k) {
        product *= v;
    }
    return product;
}

template <typename F> __device__ float apply(F f, float v) { return f(v); }

extern "C" __global__ void device_function_templates(float* y, const float* x)
{
    static_assert(WIDTH % 32 == 0, "whole warps");
    const int t = threadIdx.x;
    y[t] = fmaxf(apply(Scale{3.0f}, x[t]), power<2>(x[t]));
}
