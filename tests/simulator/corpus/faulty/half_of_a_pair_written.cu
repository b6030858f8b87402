// half_of_a_pair_written.cu -- WRONG ON PURPOSE: a pair is read of which only the first half was written
//
// fault: uninitialised
// array: pairs
// launch: grid=1 block=32
// arguments: out float y 32; scratch float pairs 64; in float x 32 uniform

extern "C" __global__ void half_of_a_pair_written(float* y, float* pairs, const float* x)
{
    const int t = threadIdx.x;
    pairs[2 * t] = x[t];
    const float2 pair = reinterpret_cast<const float2*>(pairs)[t]; // <- here
    y[t] = pair.x + pair.y;
}
