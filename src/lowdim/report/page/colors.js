// Bytes out of the page, and colours out of numbers. A colour is 0xbbggrr, as a canvas stores it.

const NOWHERE = 65535; // an object without a place, or a label without a value
const UNKNOWN = 255; // an error that was not looked at; the others are 0 to 254

const VIRIDIS = [
  "#440154",
  "#48186a",
  "#472d7b",
  "#424086",
  "#3b528b",
  "#33638d",
  "#2c728e",
  "#26828e",
  "#21918c",
  "#1fa088",
  "#28ae80",
  "#3fbc73",
  "#5ec962",
  "#84d44b",
  "#addc30",
  "#d8e219",
  "#fde725",
].map(rgb);

// Neither, false, torn, both: blue against orange, and a grey that recedes on paper of either kind.
const ERRORS = {
  light: ["#d9d9d9", "#e69f00", "#0072b2", "#1a1a1a"].map(rgb),
  dark: ["#4a4f55", "#ffb31a", "#4db5f5", "#ffffff"].map(rgb),
};

/** The rows of numbers that a base64 string holds, brought into an order. */
function unpack(base64, Type, order, width = 1) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  const stored = new Type(bytes.buffer);
  const rows = new Type(stored.length);
  for (let i = 0; i < order.length; i++) {
    for (let d = 0; d < width; d++) rows[i * width + d] = stored[order[i] * width + d];
  }
  return rows;
}

function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

function pack([red, green, blue]) {
  return (blue << 16) | (green << 8) | red;
}

function css([red, green, blue]) {
  return `rgb(${red}, ${green}, ${blue})`;
}

function mix(a, b, share) {
  return a.map((part, i) => Math.round(part + (b[i] - part) * share));
}

function viridis(unit) {
  const place = Math.min(Math.max(unit, 0), 1) * (VIRIDIS.length - 1);
  const below = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return mix(VIRIDIS[below], VIRIDIS[below + 1], place - below);
}

/** The colour of errors, torn and false, each from 0 to 1 and shown as 1 beyond. */
function errorShade(torn, wrong, theme) {
  [torn, wrong] = [Math.min(torn, 1), Math.min(wrong, 1)];
  const [neither, falseOnes, tornOnes, both] = ERRORS[theme];
  return mix(mix(neither, falseOnes, wrong), mix(tornOnes, both, wrong), torn);
}
