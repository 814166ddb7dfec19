#!/bin/sh
# Compares the digests of fits.py on an emulated ARM processor: Debian's Python for arm64, NumPy, SciPy and
# scikit-learn from their wheels, and the extension cross-compiled. `make test-arm` calls it; it runs as root, because
# debootstrap does, and needs the network once, PYTHON with nanobind and pip, and some minutes.
set -eu
cd "$(dirname "$0")/../.."
build=$PWD/build/arm-python PYTHON=${PYTHON:-python3}
root=$build/root site=$build/site
mkdir -p "$build"
if [ ! -e "$site/.complete" ]; then
  debootstrap --arch=arm64 --variant=minbase --download-only --include=python3,libpython3-dev bookworm "$build/debian" >/dev/null
  for package in "$build"/debian/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
  "$PYTHON" -m pip install -q --disable-pip-version-check --target "$site" --python-version 3.11 --only-binary :all: \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
    numpy scipy scikit-learn threadpoolctl click tqdm
  touch "$site/.complete"
fi
# The interpreter that CMake asks is that of this machine; the headers are those of the other.
cmake -G "Unix Makefiles" -S . -B "$build" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_CXX_FLAGS="-idirafter $root/usr/include" \
  -DPython_EXECUTABLE="$(command -v "$PYTHON")" -DPython_INCLUDE_DIR="$root/usr/include/python3.11" \
  -Dnanobind_DIR="$("$PYTHON" -m nanobind --cmake_dir)" >/dev/null
cmake --build "$build" --target _native --parallel 2 >/dev/null
rm -rf "$build/package" && mkdir "$build/package"
cp -r src/lowdim "$build/package/" && rm -f "$build"/package/lowdim/_native*.so
cp "$build"/_native*.so "$build/package/lowdim/_native.abi3.so"
PYTHONPATH=$build/package:$site QEMU_LD_PREFIX=$root qemu-aarch64-static "$root/usr/bin/python3.11" \
  tests/reproducible/fits.py >"$build/digests.json"
diff tests/reproducible/digests.json "$build/digests.json" && echo "The digests are the same on ARM"
