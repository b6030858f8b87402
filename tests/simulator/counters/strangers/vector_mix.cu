// vector_mix.cu -- loads of float2, float4, short2, uchar4 and double2 side by side
extern "C" __global__ void vector_mix(float4* out, const float2* a, const float4* b,
                                      const short2* c, const uchar4* d, const double2* e, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 va = a[i];
    float4 vb = b[n - 1 - i];
    short2 vc = c[i];
    uchar4 vd = d[i ^ 1];
    double2 ve = e[i];
    float4 r;
    r.x = va.x + vb.w * vc.x;
    r.y = va.y * vb.z + vd.x;
    r.z = (float)(ve.x * vd.y - ve.y) + vb.x;
    r.w = vc.y + vd.z * vd.w;
    out[i] = r;
}
