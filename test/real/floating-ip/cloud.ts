import { setTimeout as sleep } from 'node:timers/promises'
import { Dice, FakeCloud } from 'ipam-kit/testing'
import { serveNeutron, USER } from '../../../docs/examples/floating-ip-controller/neutron-server.js'

/** How long a call takes, in milliseconds. */
const LATENCY_MS = 10
const FAULTS = [
  { kind: 'down' },
  { kind: 'lostAnswer' },
  { kind: 'late', seconds: 2 },
  { kind: 'quota' },
  { kind: 'denied' },
  { kind: 'rateLimited', seconds: 1 },
  { kind: 'unavailable', seconds: 1 },
] as const

/** A fake cloud on a port of 127.0.0.1, of whose calls a share goes wrong. */
export class FaultyCloud {
  readonly fake: FakeCloud
  readonly #dice: Dice
  /** The share of the calls that go wrong, 0 to 1. */
  share: number
  readonly #network: string
  readonly #nodes: string
  #url = ''
  #close = () => {}
  #addresses = 0
  /** How many calls have gone wrong. */
  faults = 0

  constructor(seed: number, share: number) {
    this.#dice = new Dice(seed)
    this.share = share
    this.fake = new FakeCloud({
      now: Date.now,
      latency: async (operation) => {
        if (this.#dice.chance(this.share)) {
          this.faults++
          // with the next one
          this.fake.inject(operation, this.#dice.pick(FAULTS))
        }
        await sleep(LATENCY_MS)
      },
    })
    this.#network = this.fake.addNetwork({ name: 'public', cidrs: ['198.18.0.0/22'] }).id
    this.#nodes = this.fake.addNetwork({ name: 'nodes', cidrs: ['10.6.0.0/16'], isExternal: false }).id
    this.fake.addRouter({ gatewayNetwork: this.#network, subnets: [this.fake.subnetId(this.#nodes, 0)] })
  }

  async start(): Promise<void> {
    const { url, server } = await serveNeutron(this.fake, 0)
    this.#url = url
    this.#close = () => {
      server.closeAllConnections()
      server.close()
    }
  }

  stop(): void {
    this.#close()
  }

  get cloudsYaml(): string {
    const { name, password, project } = USER
    const auth = `auth_url: ${this.#url}/v3\n      username: ${name}\n      password: ${password}\n      project_name: ${project}`
    return `clouds:\n  openstack:\n    auth:\n      ${auth}\n`
  }

  /** Addresses that were there before the pools. */
  byHand(count: number): readonly string[] {
    const ids = Array.from({ length: count }, () => this.fake.byHand.create({ network: this.#network }))
    return ids.map((id) => this.fake.find(id)!.address)
  }

  addInstance(instance: string): void {
    const nth = ++this.#addresses
    const address = `10.6.${nth >> 8}.${nth & 255}`
    const fixedIPs = [{ subnet: this.fake.subnetId(this.#nodes, 0), address }]
    this.fake.addPort({ device: instance, network: this.#nodes, fixedIPs })
  }

  removeInstance(instance: string): void {
    for (const { id, device } of this.fake.ports) if (device === instance) this.fake.removePort(id)
  }

  /** The floating IPs that are attached to an instance. */
  floatingIPsOf(instance: string): readonly string[] {
    const ports = this.fake.ports.filter(({ device }) => device === instance).map(({ id }) => id)
    return this.fake.floatingIPs.filter(({ port }) => ports.includes(port)).map(({ address }) => address)
  }
}
