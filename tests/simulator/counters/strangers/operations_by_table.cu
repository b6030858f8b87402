// operations_by_table.cu -- a stack machine whose operations are functions in a table
typedef int (*Operation)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ int larger(int a, int b) { return a > b ? a : b; }
__device__ const Operation table[4] = {add, subtract, multiply, larger};

extern "C" __global__ void operations_by_table(int* out, const int* x, const unsigned char* code,
    int steps, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int value = x[t];
    for (int s = 0; s < steps; ++s) value = table[code[t * steps + s] & 3](value, x[(t + s) % n]);
    out[t] = value;
}
