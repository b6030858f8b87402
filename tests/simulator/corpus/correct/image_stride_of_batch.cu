// image_stride_of_batch.cu -- batch, channel, row and column of an NCHW array
//
// twin: image_stride_of_padded_batch
// launch: grid=1x1x6 block=16x16
// arguments: out float y 3x2x12x14; in float x 3x2x12x14 uniform; int channels=2; int height=12; int width=14
// result: y = np.maximum(x, 0)

extern "C" __global__ void image_stride_of_batch(float* y, const float* x, int channels, int height, int width)
{
    const int image = blockIdx.z / channels, channel = blockIdx.z % channels;
    const int h = threadIdx.y, w = threadIdx.x;
    if (h < height && w < width) {
        const int plane = image * channels + channel;
        const int from = (plane * height + h) * width + w;
        y[(plane * height + h) * width + w] = fmaxf(x[from], 0.0f);
    }
}
