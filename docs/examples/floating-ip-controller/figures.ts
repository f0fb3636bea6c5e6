import type { Meta } from 'ipam-kit/crd'
import { OpenStackFloatingIPPool, OpenStackServer } from 'ipam-kit/crd/openstack'
import type { ExternalPoolLedger } from 'ipam-kit/provider/external'
import { Histogram, type Metric } from 'ipam-kit/render'
import type { ControllerResult, ExternalCaller } from 'ipam-kit/run'
import type { Figures } from '../program/metrics.js'

/** The figures of a gauge. */
type Samples = Extract<Metric, { readonly type: 'counter' | 'gauge' }>['samples']

const BOUNDS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const { kind: POOL, apiVersion } = OpenStackFloatingIPPool.info
const { kind: SERVER } = OpenStackServer.info

/** Where the ledgers of pools are. */
export interface Ledgers {
  ledgerOf(pool: Meta.ObjectRef): Pick<ExternalPoolLedger<OpenStackFloatingIPPool>, 'size' | 'report'>
}

/** How pools and servers are, and how the calls to the cloud end. */
export class CloudFigures implements Figures {
  readonly #ledgers: Ledgers
  readonly #outcomes = new Map<string, string>()
  /** By operation and result. */
  readonly #calls = new Map<string, number>()
  readonly #times = new Map<string, Histogram>()

  constructor(ledgers: Ledgers) {
    this.#ledgers = ledgers
  }

  observe({ key, kind, outcome }: ControllerResult): void {
    if (kind !== 'done' || !(key.startsWith(`${POOL} `) || key.startsWith(`${SERVER} `))) return
    if (outcome === undefined) this.#outcomes.delete(key)
    else this.#outcomes.set(key, outcome.kind)
  }

  /** The same caller, whose calls are counted by how they end. */
  counted(call: ExternalCaller): ExternalCaller {
    return async (asked) => {
      const { operation } = asked
      const startMs = performance.now()
      try {
        const result = await call(asked)
        this.#count(operation, result.ok ? 'ok' : (result.failure.reason ?? 'failed'))
        return result
      } catch (error) {
        this.#count(operation, 'thrown')
        throw error
      } finally {
        this.#time(operation, (performance.now() - startMs) / 1000)
      }
    }
  }

  metrics(): readonly Metric[] {
    const calls = [...this.#calls].map(([key, value]) => {
      const [operation = '', result = ''] = key.split(' ')
      return { labels: { operation, result }, value }
    })
    return [
      gauge('ipam_floating_ip_addresses', 'Addresses of a pool by how they are', this.#addresses()),
      gauge('ipam_floating_ip_pools', 'Pools by what their last plan came to', this.#counts(POOL)),
      gauge('ipam_floating_ip_servers', 'Servers by what their last plan came to', this.#counts(SERVER)),
      { type: 'counter', name: 'ipam_cloud_calls_total', help: 'Calls to the cloud by how they ended', samples: calls },
      {
        type: 'histogram',
        name: 'ipam_cloud_call_seconds',
        help: 'From a call to the cloud to its answer',
        samples: [...this.#times].map(([operation, time]) => time.sample({ operation })),
      },
    ]
  }

  /**
   * As of the last plan that was compared with the status.
   */
  #addresses(): Samples {
    const pools = [...this.#outcomes.keys()].filter((key) => key.startsWith(`${POOL} `))
    return pools.flatMap((key) => {
      const [namespace = '', name = ''] = key.slice(POOL.length + 1).split('/')
      const { size, report } = this.#ledgers.ledgerOf({ apiVersion, kind: POOL, namespace, name })
      const counts = {
        claimed: size,
        free: report?.available.length ?? 0,
        failed: report?.failed.length ?? 0,
        missing: report?.missing.length ?? 0,
        inherited: report?.inherited.length ?? 0,
      }
      return Object.entries(counts).map(([state, value]) => ({ labels: { namespace, pool: name, state }, value }))
    })
  }

  #counts(kind: string): Samples {
    const counts = new Map<string, number>()
    for (const [key, outcome] of this.#outcomes) {
      if (key.startsWith(`${kind} `)) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    }
    return [...counts].map(([outcome, value]) => ({ labels: { outcome }, value }))
  }

  #count(operation: string, result: string): void {
    const key = `${operation} ${result}`
    this.#calls.set(key, (this.#calls.get(key) ?? 0) + 1)
  }

  #time(operation: string, seconds: number): void {
    const times = this.#times.get(operation) ?? new Histogram(BOUNDS_SECONDS)
    times.observe(seconds)
    this.#times.set(operation, times)
  }
}

function gauge(name: string, help: string, samples: Samples): Metric {
  return { type: 'gauge', name, help, samples }
}
