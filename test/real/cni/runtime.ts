import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** One call, as a runtime makes it. */
export interface Call {
  readonly container?: string
  readonly ifname?: string
  /** Left out: that of the container. */
  readonly pod?: string
  /** Members of the configuration, beside `cniVersion`, `name`, `type` and `ipam`. */
  readonly config?: object
  readonly ipam?: object
  readonly env?: { readonly [name: string]: string | undefined }
  /** In place of the whole configuration. */
  readonly stdin?: string
}

export interface Ended {
  /** `null`: it was killed. */
  readonly exit: number | null
  /** Nothing, or the one JSON text of stdout. */
  readonly json: unknown
  readonly ms: number
}

/** A program, and the network that it serves. */
export interface Subject {
  readonly name: string
  /** The program and its arguments, as the wrapper calls it. */
  readonly command: readonly [string, ...string[]]
  /** Whether its containers need no Pod. */
  readonly isLocal?: true
  /** `ipam` of its network. */
  readonly ipam: object
  /** Where the plugin keeps its record. */
  readonly record: string
  /** The rows that are stored: a text for the address, and the container. */
  rows(): Promise<readonly StoredRow[]>
  /** Deletes the row of a container, behind the plugin. */
  lose(container: string): Promise<void>
  /** Makes rows old enough for a GC, beside their record. */
  age(): Promise<void>
  /** The same network, where the store cannot be reached. */
  readonly away: object
}

export interface StoredRow {
  readonly address: string
  readonly container: string
}

let calls = 0

/** Calls a program as a runtime does: a process for each call. @throws Error for what is on stderr */
export async function callPlugin(subject: Subject, folder: string, command: string, call: Call = {}): Promise<Ended> {
  const { container = 'c1', ifname = 'net1', pod = `pod-${container}`, config = {}, ipam = {}, env = {} } = call
  const network = { cniVersion: '1.1.0', name: 'lab', type: 'macvlan', ipam: { ...subject.ipam, ...ipam }, ...config }
  mkdirSync(folder, { recursive: true })
  // a file: hundreds of processes would wait until this one has written to their pipes
  const file = join(folder, `call-${calls++}.json`)
  writeFileSync(file, call.stdin ?? JSON.stringify(network))
  const stdin = openSync(file, 'r')
  const start = performance.now()
  const [program, ...args] = subject.command
  const child = spawn(program, args, {
    env: {
      PATH: process.env.PATH,
      NODENAME: 'node-a',
      CNI_COMMAND: command,
      CNI_CONTAINERID: container,
      CNI_NETNS: '/var/run/netns/none',
      CNI_IFNAME: ifname,
      CNI_PATH: '/opt/cni/bin',
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${pod};K8S_POD_UID=uid-of-${pod}`,
      ...env,
    },
    stdio: [stdin, 'pipe', 'pipe'],
  })
  closeSync(stdin)
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout!), text(child.stderr!), exited])
  if (stderr !== '') throw new Error(`${command} of ${container}: ${stderr}`)
  return { exit, json: stdout === '' ? undefined : JSON.parse(stdout), ms: performance.now() - start }
}

/** The addresses of a result, without their lengths. */
export function addressesIn({ exit, json }: Ended): readonly string[] {
  const { ips } = json as { readonly ips?: readonly { readonly address: string }[] }
  if (exit !== 0 || ips === undefined) throw new Error(JSON.stringify(json))
  return ips.map(({ address }) => address.replace(/\/.*/, ''))
}
