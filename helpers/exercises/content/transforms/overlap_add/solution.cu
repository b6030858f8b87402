// %%kernel overlap_add -DLOG_SIZE=8
#define SIZE (1 << LOG_SIZE)                   // points of a transform; SIZE / 2 threads
__device__ void forward(float2* cells, const float2* twiddles);    // both end with a barrier;
__device__ void back(float2* cells, const float2* twiddles);       // they are written below

__global__ void overlap_add(
    float* P, const float* N, const float2* spectrum, const float2* twiddles, int n, int width)
{
    __shared__ float2 cells[SIZE];             // .x is the real part, .y the imaginary one
    const int segment = SIZE - width + 1;      // cells of N in a segment
    const int start = blockIdx.x * segment;    // the first of this block's

    //> 1. Load: cells[i] is N[start + i] as the real part, for i below `segment` and as far as N
    //>    goes, and 0 in all others of the SIZE points. The imaginary parts are 0.
    for (int i = threadIdx.x; i < SIZE; i += blockDim.x) {
        const bool is_cell = i < segment && start + i < n;
        cells[i] = make_float2(is_cell ? N[start + i] : 0.0f, 0.0f);
    }
    //<
    __syncthreads();
    forward(cells, twiddles);

    //> 2. Multiply each cells[i] with spectrum[i], the filter's: (a + bi)(c + di) has the real
    //>    part ac - bd and the imaginary part ad + bc.
    for (int i = threadIdx.x; i < SIZE; i += blockDim.x) {
        const float2 a = cells[i], b = spectrum[i];
        cells[i] = make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
    }
    //<
    __syncthreads();
    back(cells, twiddles);

    //> 3. Add the real part of each cells[i] to P[start + i - width / 2], if there is such an
    //>    output. P holds zeros at first, and the next block adds to the same outputs.
    for (int i = threadIdx.x; i < SIZE; i += blockDim.x) {
        const int out = start + i - width / 2;
        if (0 <= out && out < n) atomicAdd(&P[out], cells[i].x);
    }
    //<
}

__device__ float2 turned(float2 a, float2 w)   // the product of two complex numbers
{
    return make_float2(a.x * w.x - a.y * w.y, a.x * w.y + a.y * w.x);
}

__device__ void forward(float2* cells, const float2* twiddles)
{
    for (int span = SIZE / 2; span > 0; span /= 2) {
        for (int t = threadIdx.x; t < SIZE / 2; t += blockDim.x) {
            const int place = t & (span - 1), first = 2 * (t - place) + place;
            const float2 w = twiddles[place * (SIZE / 2 / span)];
            const float2 a = cells[first], b = cells[first + span];
            cells[first] = make_float2(a.x + b.x, a.y + b.y);
            cells[first + span] = turned(make_float2(a.x - b.x, a.y - b.y), w);
        }
        __syncthreads();
    }
}

__device__ void back(float2* cells, const float2* twiddles)
{
    for (int span = 1; span < SIZE; span *= 2) {
        for (int t = threadIdx.x; t < SIZE / 2; t += blockDim.x) {
            const int place = t & (span - 1), first = 2 * (t - place) + place;
            const float2 w = twiddles[place * (SIZE / 2 / span)];
            const float2 a = cells[first], b = turned(cells[first + span], make_float2(w.x, -w.y));
            cells[first] = make_float2(a.x + b.x, a.y + b.y);
            cells[first + span] = make_float2(a.x - b.x, a.y - b.y);
        }
        __syncthreads();
    }
}
