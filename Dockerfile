# SPDX-License-Identifier: Apache-2.0
# docker build -t bessemer .
#     the command alone, in a small image:
#     docker run --rm -v "$PWD:/models" bessemer compile resnet50.ts -o resnet50.bsm
# docker build -t bessemer-dev --target development .
#     the compiler's tools, with headers and libraries, for programs in C
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      cmake dpkg-dev file gcc libc6-dev libnanopb-dev ninja-build zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cmake --preset release -B /build -DCMAKE_INSTALL_PREFIX=/usr \
    && cmake --build /build \
    && cd /build && cpack -G DEB -B /packages

FROM debian:12-slim AS development
COPY --from=build /packages/*.deb /packages/
RUN apt-get update && apt-get install -y --no-install-recommends \
      gcc libc6-dev make pkgconf /packages/*.deb \
    && rm -rf /var/lib/apt/lists/* /packages
WORKDIR /models

FROM debian:12-slim
COPY --from=build /packages/bessemer_*.deb /packages/
RUN apt-get update && apt-get install -y --no-install-recommends \
      /packages/*.deb \
    && rm -rf /var/lib/apt/lists/* /packages
# Models and engines are the user's: run with --user to own what is written.
WORKDIR /models
ENTRYPOINT ["bessemer"]
CMD ["--help"]
