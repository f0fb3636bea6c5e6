import { createServer, type Server } from 'node:http'
import type { Metric } from 'ipam-kit/render'
import type { ControllerResult } from 'ipam-kit/run'

/** Metrics that one program has beside those of each controller. */
export interface Figures {
  /** Told of each key that was planned. */
  observe(result: ControllerResult): void
  metrics(): readonly Metric[]
}

/** Serves `/metrics` and `/healthz`. @param text the metrics as Prometheus reads them */
export function serveMetrics(text: () => string, port: number): Server {
  return createServer((request, response) => {
    const isMetrics = request.url === '/metrics'
    if (!isMetrics && request.url !== '/healthz') return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(isMetrics ? text() : 'ok\n')
  }).listen(port)
}
