// whole_pair_written.cu -- a pair is read of which both halves were written
//
// twin: half_of_a_pair_written
// launch: grid=1 block=32
// arguments: out float y 32; scratch float pairs 64; in float x 32 uniform
// result: y = 2 * x

extern "C" __global__ void whole_pair_written(float* y, float* pairs, const float* x)
{
    const int t = threadIdx.x;
    pairs[2 * t] = x[t];
    pairs[2 * t + 1] = x[t];
    const float2 pair = reinterpret_cast<const float2*>(pairs)[t];
    y[t] = pair.x + pair.y;
}
