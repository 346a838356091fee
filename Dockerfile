# docker build -t hiertopics .
# docker run --rm -v "$PWD:/work" hiertopics fit corpus.ldac
FROM python:3.11-slim
COPY pyproject.toml README.md /source/
COPY hiertopics /source/hiertopics
COPY docs/build_man.py docs/man_hook.py /source/docs/
RUN pip install --no-cache-dir '/source[words,parquet,diagnostics]' && rm -r /source
# Compiled kernels are kept where any user of the container may write.
ENV NUMBA_CACHE_DIR=/tmp/hiertopics
WORKDIR /work
ENTRYPOINT ["hiertopics"]
