# All that the pipeline needs, for pods and for machines without Python: docker build -t modp .
# The clone itself may lie on a shared volume: Snakemake then takes the code from there, the libraries from here.
FROM python:3.11-slim

# git is for DVC; bash runs Snakemake's jobs.
RUN apt-get update \
    && apt-get install -y --no-install-recommends bash git \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/modp
COPY pyproject.toml README.md LICENSE ./
COPY workflow ./workflow
RUN pip install --no-cache-dir torch==2.13.0 \
    && pip install --no-cache-dir -e ".[slurm,kubernetes]" \
    && pip check
COPY Snakefile params.yaml dvc.yaml ./
COPY profiles ./profiles
COPY benchmarks ./benchmarks
COPY data/sample ./data/sample

# Compiled loops and settings of libraries go where any user may write.
ENV HOME=/tmp NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib DVC_NO_ANALYTICS=1
CMD ["snakemake", "--cores", "2"]
