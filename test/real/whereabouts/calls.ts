import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Gate } from './gate.js'

/** The interface of a container, as a runtime names it to the plugin. */
export interface Attached {
  readonly container: string
  readonly ifname: string
  readonly pod: string
  readonly namespace: string
}

/** The end of a call. */
export interface Ended {
  /** `null`: it was killed. */
  readonly exit: number | null
  /** Nothing, or one JSON text. */
  readonly answer:
    | { readonly ips?: readonly { readonly address: string }[]; readonly code?: number; readonly msg?: string }
    | undefined
  readonly stderr: string
  readonly ms: number
}

export interface RuntimeParts {
  /** The bundled plugin. */
  readonly program: string
  readonly gate: Gate
  /** Where files of kubeconfigs are written. */
  readonly folder: string
  /** Of the pools. */
  readonly namespace: string
}

/** Calls the plugin as a runtime does: a process for each call. */
export class Runtime {
  readonly #parts: RuntimeParts
  readonly #running = new Map<string, { readonly child: ChildProcess; readonly who: Attached }>()
  #count = 0

  constructor(parts: RuntimeParts) {
    this.#parts = parts
  }

  /** Ends a call where it stands. */
  kill(call: string): void {
    this.#running.get(call)?.child.kill('SIGKILL')
  }

  /** The container of a call that has not ended. */
  containerOf(call: string): string | undefined {
    return this.#running.get(call)?.who.container
  }

  /** @param ipam the members of `ipam` beside its type and the kubeconfig */
  async call(command: string, who: Attached, ipam: object): Promise<Ended & { readonly call: string }> {
    const call = `call-${this.#count++}`
    const config = {
      cniVersion: '1.0.0',
      name: 'lab',
      type: 'macvlan',
      ipam: { type: 'whereabouts', kubernetes: { kubeconfig: this.#kubeconfigFor(call) }, ...ipam },
    }
    // a file: hundreds of processes would wait until this one has written to their pipes
    const file = join(this.#parts.folder, `${call}.json`)
    writeFileSync(file, JSON.stringify(config))
    const stdin = openSync(file, 'r')
    const start = performance.now()
    const child = spawn(process.execPath, [this.#parts.program], {
      env: {
        PATH: process.env.PATH,
        CNI_COMMAND: command,
        CNI_CONTAINERID: who.container,
        CNI_NETNS: '/var/run/netns/none',
        CNI_IFNAME: who.ifname,
        CNI_PATH: '/opt/cni/bin',
        CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${who.namespace};K8S_POD_NAME=${who.pod}`,
        NODENAME: 'node-a',
      },
      stdio: [stdin, 'pipe', 'pipe'],
    })
    closeSync(stdin)
    this.#running.set(call, { child, who })
    const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
    const [stdout, stderr, exit] = await Promise.all([text(child.stdout!), text(child.stderr!), exited])
    this.#running.delete(call)
    const answer = stdout.trim() === '' ? undefined : JSON.parse(stdout)
    return { call, exit, answer, stderr, ms: performance.now() - start }
  }

  #kubeconfigFor(call: string): string {
    const { gate, folder, namespace } = this.#parts
    const file = join(folder, `${call}.kubeconfig`)
    // as upstream writes it on each node
    const lines = [
      'apiVersion: v1',
      'kind: Config',
      'clusters:',
      '- name: local',
      '  cluster:',
      `    server: ${gate.urlFor(call)}`,
      'users:',
      '- name: whereabouts',
      '  user: {}',
      'contexts:',
      '- name: whereabouts-context',
      '  context:',
      '    cluster: local',
      '    user: whereabouts',
      `    namespace: ${namespace}`,
      'current-context: whereabouts-context',
    ]
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 })
    return file
  }
}
