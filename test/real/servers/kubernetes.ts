import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Certificate, createAuthority, createKeyPair } from '../../setup/certificates.js'
import { etcdProgram } from './etcd.js'
import { type AnyObject, type KubeAccess, KubeApi, type KubeRequest, kubeconfigOf } from './kube-api.js'
import { kubeBinary } from './kube-binaries.js'
import type { Program } from './processes.js'
import { dataFolder, type RealServer, removeFolder, startServer } from './server.js'
import { freePort } from './tools.js'

export interface KubernetesOptions {
  /**
   * Applied before the controllers start: of a definition that comes later the garbage collector
   * learns after up to a minute only.
   */
  readonly crds?: readonly object[]
  /** Without kube-controller-manager: nothing is collected, and namespaces do not end. */
  readonly bare?: boolean
  /**
   * Controllers beside the garbage collector and that of namespaces, such as node-ipam-controller.
   */
  readonly controllers?: readonly string[]
  /** Further flags of kube-controller-manager, for these. */
  readonly controllerFlags?: readonly string[]
  /** Has etcd wait for the disk at each write. */
  readonly durable?: boolean
}

/** A control plane without nodes: etcd, kube-apiserver and kube-controller-manager. */
export interface RealKubernetes extends RealServer, KubeAccess {
  readonly kubeconfig: { readonly path: string; readonly text: string }
  readonly etcdUrl: string
  request: KubeApi['request']
  apply: KubeApi['apply']
}

/** Starts a control plane, with an administrator's certificate to go in. */
export async function startKubernetes(options: KubernetesOptions = {}): Promise<RealKubernetes> {
  // built before anything is started: it may take minutes
  const apiserver = await kubeBinary('kube-apiserver')
  const manager = await kubeBinary('kube-controller-manager')
  const folder = dataFolder('kubernetes')
  try {
    const etcd = await etcdProgram(folder, { fast: options.durable !== true })
    const authority = await createAuthority('ipam-kit-test')
    const admin = await authority.issue({ commonName: 'admin', organization: 'system:masters' }, 'client')
    const url = `https://127.0.0.1:${await freePort()}`
    const access = { url, ca: authority.cert, clientCert: admin.cert, clientKey: admin.key }
    const api = new KubeApi(access)
    const kubeconfig = { path: join(folder, 'kubeconfig'), text: kubeconfigOf(access) }
    writeFileSync(kubeconfig.path, kubeconfig.text, { mode: 0o600 })
    writeFileSync(join(folder, 'ca.crt'), access.ca)
    const serving = await authority.issue({ commonName: 'kube-apiserver' }, 'server')
    const programs = [
      etcd.program,
      apiserverProgram({ command: apiserver, folder, api, url, etcd: etcd.url, serving, crds: options.crds ?? [] }),
      ...(options.bare === true
        ? []
        : [managerProgram({ command: manager, api, kubeconfig: kubeconfig.path, options })]),
    ]
    const version = async () => (await api.request<{ gitVersion: string }>('GET', '/version')).body.gitVersion
    const server = await startServer({ name: 'Kubernetes', url, folder, programs, version })
    return {
      ...server,
      ...access,
      kubeconfig,
      etcdUrl: etcd.url,
      request: <T>(method: string, path: string, more?: KubeRequest) => api.request<T>(method, path, more),
      apply: <T extends AnyObject>(object: T, options?: { readonly strict?: boolean }) => api.apply(object, options),
    }
  } catch (error) {
    await removeFolder(folder)
    throw error
  }
}

interface ApiserverParts {
  readonly command: string
  readonly folder: string
  readonly api: KubeApi
  readonly url: string
  readonly etcd: string
  readonly serving: Certificate
  readonly crds: readonly object[]
}

function apiserverProgram({ command, folder, api, url, etcd, serving, crds }: ApiserverParts): Program {
  const tokens = createKeyPair()
  const file = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  return {
    name: 'kube-apiserver',
    command,
    args: [
      `--etcd-servers=${etcd}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${new URL(url).port}`,
      `--cert-dir=${join(folder, 'certs')}`,
      `--tls-cert-file=${file('serving.crt', serving.cert)}`,
      `--tls-private-key-file=${file('serving.key', serving.key)}`,
      `--client-ca-file=${join(folder, 'ca.crt')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${file('tokens.pub', tokens.publicKey)}`,
      `--service-account-signing-key-file=${file('tokens.key', tokens.privateKey)}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      '--authorization-mode=RBAC',
      // pods need no token here, and nobody makes service accounts
      '--disable-admission-plugins=ServiceAccount',
      // its own address is no endpoint: a loopback address is not allowed there
      '--endpoint-reconciler-type=none',
    ],
    readySeconds: 120,
    ready: async () => (await api.request('GET', '/readyz')).status === 200,
    whenReady: async () => {
      for (const crd of crds) await api.apply(crd as AnyObject)
    },
  }
}

interface ManagerParts {
  readonly command: string
  readonly api: KubeApi
  readonly kubeconfig: string
  readonly options: KubernetesOptions
}

function managerProgram({ command, api, kubeconfig, options }: ManagerParts): Program {
  const controllers = ['garbage-collector-controller', 'namespace-controller', ...(options.controllers ?? [])]
  const orphans = '/api/v1/namespaces/default/configmaps'
  let orphan: string | undefined
  return {
    name: 'kube-controller-manager',
    command,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join(',')}`,
      '--leader-elect=false',
      '--secure-port=0',
      ...(options.controllerFlags ?? []),
    ],
    readySeconds: 120,
    // it says nothing about itself, so it has to show its work: an object whose owner does not
    // exist has to go
    ready: async () => {
      if (orphan !== undefined) return (await api.request('GET', `${orphans}/${orphan}`)).status === 404
      const name = `ready-${randomUUID()}`
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'nobody', uid: randomUUID() }
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ownerReferences: [owner] } }
      if ((await api.request('POST', orphans, { body })).status === 201) orphan = name
      return false
    },
    whenReady: async () => {
      orphan = undefined
    },
  }
}
