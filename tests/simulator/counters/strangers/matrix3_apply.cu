// matrix3_apply.cu -- 3 x 3 matrices in structures, functions that take references, float3 vectors
struct Mat3 {
    float m[3][3];
};

__device__ __forceinline__ void multiply(const Mat3& a, const float3& v, float3& result)
{
    result.x = a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z;
    result.y = a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z;
    result.z = a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z;
}

__device__ float length_of(const float3& v) { return sqrtf(v.x * v.x + v.y * v.y + v.z * v.z); }

extern "C" __global__ void matrix3_apply(float3* out, const float3* v, const Mat3* mats, int n,
                                         int count)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    float3 r;
    Mat3 a = mats[i % count];
    multiply(a, v[i], r);
    float len = length_of(r);
    if (len > 1.0f) {
        r.x /= len;
        r.y /= len;
        r.z /= len;
    }
    out[i] = r;
}
