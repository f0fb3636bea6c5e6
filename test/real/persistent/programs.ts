import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAuthority } from '../../setup/certificates.js'
import { admitExample, exampleNamed, manifestsIn } from '../account.js'
import { bundle } from '../bundle.js'
import { ControllerProcess } from '../controller/process.js'
import { paced } from '../pace.js'
import { freePort } from '../servers/tools.js'
import { type Ground, WEBHOOKS } from './ground.js'

const { main, rbac } = exampleNamed('persistent-ip', '')
const folderOf = join(main, '..')
const WEBHOOK = 'ipam-kit-persistent-claims'

type Side = 'claims' | 'addresses'
const ACCOUNTS = { claims: 'ipam-kit-persistent-claims', addresses: 'ipam-kit-persistent-ips' }

/** How the program that gives addresses runs: on blocks several copies work at once. */
const MODES = {
  objects: { copies: 1, flags: [] },
  blocks: { copies: 2, flags: ['--ledger', 'blocks', '--sweep-after', `${paced(3)}`, '--empty-after', '1'] },
} as const
export type Mode = keyof typeof MODES

type Start = () => ControllerProcess

/** The programs of the example, each as a process with its own rights, and the webhook. */
export class Programs {
  readonly #starts: { readonly [side in Side]: Start }
  readonly #copies: { readonly [side in Side]: number }
  #running: { readonly side: Side; readonly process: ControllerProcess }[] = []
  readonly #lastWords: string[] = []
  kills = 0

  private constructor(starts: { readonly [side in Side]: Start }, mode: Mode) {
    this.#starts = starts
    this.#copies = { claims: 1, addresses: MODES[mode].copies }
  }

  /** Registers the webhook with a certificate of its own, and starts the programs. */
  static async start({ server, admin }: Ground, mode: Mode): Promise<Programs> {
    const authority = await createAuthority('ipam-kit-test-persistent')
    const { cert, key } = await authority.issue({ commonName: 'webhook' }, 'server')
    writeFileSync(join(server.folder, 'tls.crt'), cert)
    writeFileSync(join(server.folder, 'tls.key'), key)
    const port = await freePort()
    const flags = {
      claims: [
        ...['--webhook', `${port}`, '--certificates', server.folder, '--failure-policy', 'Fail', '--grace', '1'],
        ...['--owners', 'apps/v1/statefulsets/StatefulSet'],
      ],
      addresses: MODES[mode].flags,
    }
    const starts = async (side: Side): Promise<Start> => {
      const program = await bundle(join(folderOf, `${side}.ts`), `persistent-${side}`)
      const kubeconfig = await admitExample(server, { main, rbac, account: ACCOUNTS[side] })
      return () => new ControllerProcess(program, kubeconfig, flags[side])
    }
    const programs = new Programs({ claims: await starts('claims'), addresses: await starts('addresses') }, mode)
    await register(admin, `https://127.0.0.1:${port}/pods`, Buffer.from(authority.cert).toString('base64'))
    for (const side of ['claims', 'addresses'] as const) programs.run(side)
    return programs
  }

  /** Starts the copies that are missing. */
  run(side: Side): void {
    while (this.#running.filter((each) => each.side === side).length < this.#copies[side]) {
      const process = this.#starts[side]()
      this.#running.push({ side, process })
      process.whenItEndsItself((code) => this.#lastWords.push(`${side} has ended with ${code}\n${tail(process)}`))
    }
  }

  /** Kills one copy of a program, which stays away. */
  async remove(side: Side): Promise<void> {
    const found = this.#running.find((each) => each.side === side)
    this.#running = this.#running.filter((each) => each !== found)
    await found?.process.stop('SIGKILL')
    this.kills++
  }

  /** Kills one copy of each program, and starts another one. */
  async kill(...sides: readonly Side[]): Promise<void> {
    await Promise.all(sides.map((side) => this.remove(side)))
    for (const side of sides) this.run(side)
  }

  /** @throws Error for a program that has ended by itself */
  assertRunning(): void {
    assert.deepEqual(this.#lastWords, [])
  }

  get said(): string {
    return this.#running.map(({ side, process }) => `${side}:\n${tail(process)}`).join('\n')
  }

  /** Ends all in order. */
  async end(): Promise<void> {
    const codes = await Promise.all(this.#running.map(({ process }) => process.stop()))
    this.assertRunning()
    assert.deepEqual(new Set(codes), new Set([0]))
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map(({ process }) => process.stop('SIGKILL')))
  }
}

function tail({ lines }: ControllerProcess): string {
  return lines.slice(-15).join('\n')
}

/** The registration of the example, at a URL. With Fail, the API server refuses a Pod without it. */
async function register(admin: Ground['admin'], url: string, caBundle: string): Promise<void> {
  const [manifest] = manifestsIn(readFileSync(join(folderOf, 'webhook.yaml'), 'utf8')) as unknown as readonly Manifest[]
  const webhooks = manifest!.webhooks.map((each) => ({
    ...each,
    ...{ clientConfig: { url, caBundle }, failurePolicy: 'Fail', timeoutSeconds: 10 },
  }))
  await admin.send('DELETE', `${WEBHOOKS}/${WEBHOOK}`, { also: [404] })
  await admin.send('POST', WEBHOOKS, { body: { ...manifest, webhooks } })
}

interface Manifest {
  readonly webhooks: readonly object[]
}

/** What the API server does with a Pod while the webhook is away. */
export async function setFailurePolicy({ admin }: Ground, failurePolicy: 'Ignore' | 'Fail'): Promise<void> {
  const body = [0, 1].map((nth) => ({ op: 'replace', path: `/webhooks/${nth}/failurePolicy`, value: failurePolicy }))
  await admin.send('PATCH', `${WEBHOOKS}/${WEBHOOK}`, { body, patch: 'json' })
}
