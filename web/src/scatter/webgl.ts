// Draws points by WebGL2. All views of a page share one context, because browsers allow about
// sixteen; each picture is copied into the canvas of its view.

import type { Painter, Scene } from "./scene";

const VERTEX = `#version 300 es
layout(location=0) in vec3 before;
layout(location=1) in vec3 after;
layout(location=2) in vec4 color;
uniform vec4 rows[3];
uniform float part, size;
uniform vec4 tint; // replaces the colour of points where its alpha is 1
uniform float opacity;
out vec4 shade;
out float radius;
void main() {
  vec4 p = vec4(part < 1. ? mix(before, after, part) : after, 1.);
  float depth = dot(rows[2], p);
  gl_Position = vec4(dot(rows[0], p), dot(rows[1], p), -.9 * depth, 1.);
  gl_PointSize = size * (1. + .3 * depth);
  radius = gl_PointSize;
  vec3 rgb = mix(color.rgb, tint.rgb, tint.a);
  float near = rows[2].w == 0. && rows[2].x == 0. ? 1. : clamp(.7 + .45 * depth, .3, 1.);
  shade = vec4(rgb, opacity * near);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 shade;
in float radius;
out vec4 pixel;
void main() {
  float cover = 1.;
  if (radius > 1.6) {
    float edge = .5 * radius * (1. - 2. * length(gl_PointCoord - .5));
    cover = clamp(edge + .5, 0., 1.);
    if (cover < .1) discard;
  }
  float alpha = shade.a * cover;
  pixel = vec4(shade.rgb * alpha, alpha);
}`;

interface Buffers {
  array: WebGLVertexArrayObject;
  before: WebGLBuffer;
  after: WebGLBuffer;
  color: WebGLBuffer;
  order: WebGLBuffer;
  uploaded: { positions: number; colors: number; order: number };
}

/** A painter by WebGL2, or null where the browser has none. */
export function webglPainter(): Painter | null {
  const canvas = document.createElement("canvas");
  const gl = canvas.getContext("webgl2", { antialias: false, depth: true, premultipliedAlpha: true });
  if (!gl) return null;
  let program = compile(gl);
  if (!program) return null;
  let buffers = new Map<Scene, Buffers>();
  let at = locations(gl, program);
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => {
    buffers = new Map();
    program = compile(gl);
    if (program) at = locations(gl, program);
  });

  function make(): Buffers {
    const [before, after, color, order] = [0, 1, 2, 3].map(() => gl!.createBuffer());
    const none = { positions: -1, colors: -1, order: -1 };
    return { array: gl!.createVertexArray(), before, after, color, order, uploaded: none };
  }

  function upload(scene: Scene): Buffers {
    if (!buffers.has(scene)) buffers.set(scene, make());
    const held = buffers.get(scene)!;
    const { uploaded } = held;
    const { versions, stride } = scene;
    gl!.bindVertexArray(held.array);
    if (uploaded.positions !== versions.positions) {
      const places: [number, WebGLBuffer, Float32Array][] = [
        [0, held.before, scene.before],
        [1, held.after, scene.positions],
      ];
      for (const [location, buffer, data] of places) {
        gl!.bindBuffer(gl!.ARRAY_BUFFER, buffer);
        gl!.bufferData(gl!.ARRAY_BUFFER, data, gl!.DYNAMIC_DRAW);
        gl!.enableVertexAttribArray(location);
        gl!.vertexAttribPointer(location, Math.min(stride, 3), gl!.FLOAT, false, 4 * stride, 0);
      }
    }
    if (uploaded.colors !== versions.colors) {
      gl!.bindBuffer(gl!.ARRAY_BUFFER, held.color);
      gl!.bufferData(gl!.ARRAY_BUFFER, scene.colors, gl!.DYNAMIC_DRAW);
      gl!.enableVertexAttribArray(2);
      gl!.vertexAttribPointer(2, 4, gl!.UNSIGNED_BYTE, true, 0, 0);
    }
    if (uploaded.order !== versions.order) {
      gl!.bindBuffer(gl!.ELEMENT_ARRAY_BUFFER, held.order);
      gl!.bufferData(gl!.ELEMENT_ARRAY_BUFFER, scene.order, gl!.DYNAMIC_DRAW);
    }
    held.uploaded = { ...versions };
    return held;
  }

  function paint(scene: Scene, context: CanvasRenderingContext2D, most: number): void {
    const { width, height, nDim, order } = scene;
    context.clearRect(0, 0, width, height);
    if (!order.length || !program || gl!.isContextLost()) return;
    if (canvas.width < width || canvas.height < height) {
      canvas.width = Math.max(canvas.width, width);
      canvas.height = Math.max(canvas.height, height);
    }
    upload(scene);
    gl!.useProgram(program);
    gl!.viewport(0, 0, width, height);
    gl!.clearColor(0, 0, 0, 0);
    gl!.clear(gl!.COLOR_BUFFER_BIT | gl!.DEPTH_BUFFER_BIT);
    gl!.enable(gl!.BLEND);
    gl!.blendFunc(gl!.ONE, gl!.ONE_MINUS_SRC_ALPHA);
    const spatial = scene.projection[8] !== 0 || scene.projection[11] !== 0;
    if (spatial) gl!.enable(gl!.DEPTH_TEST);
    else gl!.disable(gl!.DEPTH_TEST);
    gl!.depthFunc(gl!.LEQUAL);
    gl!.uniform4fv(at.rows, scene.projection as number[]);
    gl!.uniform1f(at.part, scene.part);
    const draw = (start: number, count: number, faint: boolean): void => {
      const packed = scene.faint;
      gl!.uniform4f(
        at.tint,
        (packed & 255) / 255,
        ((packed >> 8) & 255) / 255,
        ((packed >> 16) & 255) / 255,
        Number(faint),
      );
      gl!.uniform1f(at.size, scene.size * (faint ? 1 : scene.grow));
      gl!.uniform1f(at.opacity, faint ? 0.6 : scene.opacity);
      gl!.drawElements(gl!.POINTS, Math.min(count, most), gl!.UNSIGNED_INT, 4 * start);
    };
    if (nDim) draw(0, nDim, true);
    if (order.length > nDim) draw(nDim, order.length - nDim, false);
    context.drawImage(canvas, 0, canvas.height - height, width, height, 0, 0, width, height);
  }

  function forget(scene: Scene): void {
    const held = buffers.get(scene);
    if (!held) return;
    gl!.deleteVertexArray(held.array);
    [held.before, held.after, held.color, held.order].forEach((buffer) => gl!.deleteBuffer(buffer));
    buffers.delete(scene);
  }

  const about = gl.getExtension("WEBGL_debug_renderer_info");
  const renderer = about ? String(gl.getParameter(about.UNMASKED_RENDERER_WEBGL)) : "";
  return { name: "webgl", slow: /swiftshader|llvmpipe|software|basic render/i.test(renderer), paint, forget };
}

function compile(gl: WebGL2RenderingContext): WebGLProgram | null {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type);
    if (!shader) return null;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS)) return program;
  console.warn(`The points are drawn without WebGL2: ${gl.getProgramInfoLog(program) ?? ""}`);
  return null;
}

type Name = "rows" | "part" | "size" | "tint" | "opacity";

function locations(
  gl: WebGL2RenderingContext,
  program: WebGLProgram,
): Record<Name, WebGLUniformLocation | null> {
  const find = (name: Name): WebGLUniformLocation | null => gl.getUniformLocation(program, name);
  return {
    rows: find("rows"),
    part: find("part"),
    size: find("size"),
    tint: find("tint"),
    opacity: find("opacity"),
  };
}
