// flood_calls_itself.cu -- a thread for each picture fills a region, four ways by recursion
__device__ int flood(unsigned char* cells, int w, int h, int x, int y)
{
    if (x < 0 || x >= w || y < 0 || y >= h || cells[y * w + x] != 1) return 0;
    cells[y * w + x] = 2;
    int count = 1;
    count += flood(cells, w, h, x - 1, y);
    count += flood(cells, w, h, x + 1, y);
    count += flood(cells, w, h, x, y - 1);
    count += flood(cells, w, h, x, y + 1);
    return count;
}

extern "C" __global__ void flood_calls_itself(int* sizes, unsigned char* pictures, int w, int h,
    int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) sizes[t] = flood(pictures + t * w * h, w, h, t % w, t % h);
}
