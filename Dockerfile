# The engine's packages need glibc: no Alpine image.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
# The sources, which `prepare` builds, come later.
RUN npm pkg delete scripts.prepare && npm ci --no-audit --no-fund
COPY . .
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Millrace" \
      org.opencontainers.image.licenses="Apache-2.0"
# A fixed uid, so that the owner of a volume is known outside of the container.
RUN groupadd --system --gid 10001 millrace \
 && useradd --system --uid 10001 --gid millrace --home-dir /var/lib/millrace --shell /usr/sbin/nologin millrace \
 && install -d -o millrace -g millrace -m 0700 /var/lib/millrace
WORKDIR /opt/millrace
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY --from=build /build/bin ./bin
COPY --from=build /build/docs ./docs
COPY --from=build /build/package.json /build/CHANGELOG.md ./
ENV NODE_ENV=production \
    MILLRACE_DATA_DIR=/var/lib/millrace \
    MILLRACE_HOST=0.0.0.0 \
    MILLRACE_LOG_FORMAT=json
USER millrace
VOLUME /var/lib/millrace
EXPOSE 8150 21000-21999
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8150/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node itself is process 1: it receives the signals.
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
