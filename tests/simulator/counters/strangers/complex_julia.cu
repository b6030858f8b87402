// complex_julia.cu -- a class of complex numbers with operators, members by value
struct Complex {
    float r, i;
    __device__ Complex(float a, float b) : r(a), i(b) {}
    __device__ float magnitude2() const { return r * r + i * i; }
    __device__ Complex operator*(const Complex& a) const
    {
        return Complex(r * a.r - i * a.i, i * a.r + r * a.i);
    }
    __device__ Complex operator+(const Complex& a) const { return Complex(r + a.r, i + a.i); }
};

__device__ int julia(int x, int y, int dim)
{
    const float scale = 1.5f;
    float jx = scale * (float)(dim / 2 - x) / (dim / 2),
          jy = scale * (float)(dim / 2 - y) / (dim / 2);
    Complex c(-0.8f, 0.156f), a(jx, jy);
    for (int k = 0; k < 200; k++) {
        a = a * a + c;
        if (a.magnitude2() > 1000) return 0;
    }
    return 1;
}

extern "C" __global__ void complex_julia(unsigned char* ptr, int dim)
{
    int x = blockIdx.x, y = blockIdx.y * blockDim.x + threadIdx.x;
    if (y >= dim) return;
    int offset = x + y * dim, value = julia(x, y, dim);
    ptr[offset * 4 + 0] = 255 * value;
    ptr[offset * 4 + 1] = 0;
    ptr[offset * 4 + 2] = 0;
    ptr[offset * 4 + 3] = 255;
}
