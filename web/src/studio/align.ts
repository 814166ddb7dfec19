// Procrustes alignment: the rotation, reflection, scale and shift that bring one map closest to another.

type Matrix = number[]; // 3 x 3, by rows

/** Coordinates `Y` (rows of `dim` numbers) moved onto `target`, with rows in the same order. */
export function aligned(Y: Float32Array, target: Float32Array, dim: number): Float32Array {
  const n = Math.min(Y.length, target.length) / dim;
  if (n < 2 || dim > 3) return Y;
  const [from, to] = [meanOf(Y, dim, n), meanOf(target, dim, n)];
  const cross: Matrix = [0, 0, 0, 0, 0, 0, 0, 0, 0];
  let [norm, other] = [0, 0];
  for (let i = 0; i < n; i++) {
    for (let a = 0; a < dim; a++) {
      const y = Y[i * dim + a] - from[a];
      norm += y * y;
      other += (target[i * dim + a] - to[a]) ** 2;
      for (let b = 0; b < dim; b++) cross[3 * a + b] += y * (target[i * dim + b] - to[b]);
    }
  }
  const scale = Math.sqrt(norm * other);
  if (!(scale > 0) || !Number.isFinite(scale)) return Y;
  for (let d = dim; d < 3; d++) cross[4 * d] = scale; // the axes that are not there stay as they are
  const turn = orthogonalFactor(cross.map((value) => value / scale));
  let gain = 0;
  for (let a = 0; a < dim; a++)
    for (let b = 0; b < dim; b++) gain += (turn[3 * a + b] * cross[3 * a + b]) / norm;
  const out = new Float32Array(Y.length);
  for (let i = 0; i < Y.length / dim; i++) {
    for (let b = 0; b < dim; b++) {
      let sum = to[b];
      for (let a = 0; a < dim; a++) sum += gain * (Y[i * dim + a] - from[a]) * turn[3 * a + b];
      out[i * dim + b] = sum;
    }
  }
  return out;
}

function meanOf(Y: Float32Array, dim: number, n: number): number[] {
  const sums = [0, 0, 0];
  for (let i = 0; i < n; i++) for (let d = 0; d < dim; d++) sums[d] += Y[i * dim + d];
  return sums.map((sum) => sum / n);
}

const RIDGE = 1e-7; // keeps the iteration away from singular matrices

/** The orthogonal matrix nearest to one, by Newton's iteration X <- (X + X^-T) / 2 (Higham 1986). */
function orthogonalFactor(given: Matrix): Matrix {
  let x = given.map((value, k) => value + (k % 4 ? 0 : RIDGE));
  for (let step = 0; step < 60; step++) {
    const inverse = inverseTransposed(x);
    const next = x.map((value, k) => (value + inverse[k]) / 2);
    const change = Math.max(...next.map((value, k) => Math.abs(value - x[k])));
    x = next;
    if (change < 1e-10) break;
  }
  return x;
}

function inverseTransposed([a, b, c, d, e, f, g, h, i]: Matrix): Matrix {
  const cofactors = [
    e * i - f * h,
    f * g - d * i,
    d * h - e * g,
    c * h - b * i,
    a * i - c * g,
    b * g - a * h,
    b * f - c * e,
    c * d - a * f,
    a * e - b * d,
  ];
  const determinant = a * cofactors[0] + b * cofactors[1] + c * cofactors[2];
  return cofactors.map((value) => value / (determinant || RIDGE ** 3));
}
