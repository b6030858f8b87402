// CUDA C++ in %%kernel cells: its names in colour, and their completion.
//
// JupyterLab's grammar of C++ knows none of CUDA's names. They are marked on top of it, by the
// kinds that kernels.show colours as well.

const WORDS = {
  qualifier: `__global__ __device__ __host__ __shared__ __constant__ __restrict__ __managed__
    __launch_bounds__ __forceinline__ __noinline__ __grid_constant__ extern static const constexpr
    volatile inline template typename struct union enum class namespace using typedef
    if else for while do return break continue switch case default goto sizeof auto`,
  type: `void bool char short int long float double signed unsigned size_t
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
    char2 char4 uchar2 uchar4 short2 short4 ushort2 ushort4 int2 int3 int4 uint2 uint3 uint4
    float2 float3 float4 double2 longlong2 ulonglong2 half half2 __half __half2 dim3`,
  builtin: `threadIdx blockIdx blockDim gridDim warpSize true false nullptr INFINITY NAN`,
  call: `__syncthreads __syncthreads_count __syncthreads_and __syncthreads_or __syncwarp
    __threadfence __threadfence_block __threadfence_system
    __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __all_sync __any_sync
    __activemask __match_any_sync __match_all_sync __reduce_add_sync __reduce_max_sync
    __reduce_min_sync atomicAdd atomicSub atomicMax atomicMin atomicInc atomicDec atomicCAS
    atomicExch atomicAnd atomicOr atomicXor __ldg __fmaf_rn __fdividef __float2half __half2float
    __float2half_rn __float22half2_rn __half22float2 __hadd __hmul __hfma __hadd2 __hmul2 __hfma2
    __popc __clz __ffs __brev __mul24 __umulhi __float_as_int __int_as_float make_float2 make_float4
    make_int2 make_int4 fmaf fmaxf fminf fabsf sqrtf rsqrtf expf logf powf sinf cosf tanhf floorf
    ceilf min max abs clock64 printf assert __nanosleep __pipeline_memcpy_async __pipeline_commit
    __pipeline_wait_prior __cvta_generic_to_shared`
};

const KINDS = new Map();
for (const [kind, words] of Object.entries(WORDS)) {
  for (const word of words.trim().split(/\s+/)) {
    KINDS.set(word, kind);
  }
}
const VECTORS = /\b(threadIdx|blockIdx|blockDim|gridDim)\.(\w*)$/;

// The light theme's green is too faint on the grey of a cell: a little of the text's colour helps.
export const STYLE = `
  .cm-editor .halo-cuda-qualifier, .cm-editor .halo-cuda-qualifier span {
    color: var(--jp-mirror-editor-keyword-color); font-weight: bold; }
  .cm-editor .halo-cuda-type, .cm-editor .halo-cuda-type span {
    color: color-mix(in srgb, var(--jp-mirror-editor-variable-3-color) 80%, var(--jp-content-font-color0));
    font-weight: normal; }
  .cm-editor .halo-cuda-builtin, .cm-editor .halo-cuda-builtin span,
  .cm-editor .halo-cuda-call, .cm-editor .halo-cuda-call span {
    color: var(--jp-mirror-editor-builtin-color); font-weight: normal; }
`;

export const BEGINS_WITH_KERNEL = /^\s*%%kernel\b/;

// An extension of CodeMirror that colours CUDA's names where a cell begins with %%kernel.
export function colours({ view, language }) {
  const { Decoration, ViewPlugin } = view;
  const marks = {};
  for (const kind of Object.keys(WORDS)) {
    marks[kind] = Decoration.mark({ class: `halo-cuda-${kind}` });
  }

  function decorate(editor) {
    const { doc } = editor.state;
    const found = [];
    if (BEGINS_WITH_KERNEL.test(doc.sliceString(0, 200))) {
      const tree = language.syntaxTree(editor.state);
      const begin = doc.lines > 1 ? doc.line(2).from : doc.length; // below the %%kernel line
      for (const { from, to } of editor.visibleRanges) {
        const start = Math.max(from, begin);
        for (const match of doc.sliceString(start, Math.max(to, start)).matchAll(/\b[A-Za-z_]\w*/g)) {
          const kind = KINDS.get(match[0]);
          const at = start + match.index;
          if (kind && !/Comment|String/.test(tree.resolveInner(at, 1).name)) {
            found.push(marks[kind].range(at, at + match[0].length));
          }
        }
      }
    }
    return Decoration.set(found);
  }

  return ViewPlugin.define(
    editor => ({
      decorations: decorate(editor),
      update(change) {
        const parsed = language.syntaxTree(change.startState) !== language.syntaxTree(change.state);
        if (change.docChanged || change.viewportChanged || parsed) {
          this.decorations = decorate(change.view);
        }
      }
    }),
    { decorations: plugin => plugin.decorations }
  );
}

const isKernelCell = context =>
  BEGINS_WITH_KERNEL.test(context.editor?.model.sharedModel.getSource() ?? '');

// Offer in a %%kernel cell what `completions` knows, and nothing else: the Python kernel completes
// Python there, and another provider every word of the text, those of comments, too.
export function completeAlone(manager) {
  for (const provider of manager.getProviders().values()) {
    if (provider !== completions) {
      const isApplicable = provider.isApplicable.bind(provider);
      provider.isApplicable = async context => !isKernelCell(context) && isApplicable(context);
    }
  }
}

// A provider of completions: CUDA's names, x y z of threadIdx and the like, the cell's own words.
export const completions = {
  identifier: 'halo-labs:cuda',
  rank: 700,
  renderer: null,
  async isApplicable(context) {
    return isKernelCell(context);
  },
  async fetch({ text, offset }) {
    const before = text.slice(0, offset);
    const member = VECTORS.exec(before);
    const word = member ? member[2] : /\w*$/.exec(before)[0];
    const start = offset - word.length;
    if (!word && !member) {
      return { start, end: offset, items: [] }; // all names are no help
    }
    const code = text.replace(/%%kernel|\s-D|"[^"\n]*"|\/\/.*/g, part => ' '.repeat(part.length));
    const own = [...code.matchAll(/\b[A-Za-z_]\w{2,}/g)].filter(one => one.index !== start);
    const names = member
      ? ['x', 'y', 'z']
      : [...KINDS.keys(), ...own.map(one => one[0]).filter(one => !KINDS.has(one))];
    const fitting = [...new Set(names)].filter(name => name.startsWith(word) && name !== word);
    fitting.sort((a, b) => KINDS.has(a) - KINDS.has(b) || a.localeCompare(b));
    return { start, end: offset, items: fitting.map(label => ({ label, type: type(label) })) };
  }
};

function type(name) {
  const kinds = { qualifier: 'keyword', type: 'class', builtin: 'instance', call: 'function' };
  return kinds[KINDS.get(name)] ?? 'variable';
}
