import { parseArgs } from 'node:util'
import type { Meta } from 'ipam-kit/crd'
import { type StoreAddress, withoutSecrets } from '../open-store.js'
import type { FlagOptions } from '../program/flags.js'
import { kinds as blocksKinds } from './blocks/cast.js'
import { modelNamed, models } from './in-cluster/kinds.js'
import { parseStoreAddress, storeForms } from './store-address.js'

export interface Options {
  readonly scenario: ScenarioName
  /** Where the objects are kept. `undefined`: in this process. */
  readonly store: StoreAddress | undefined
  /**
   * Files, folders, `-` for standard input. Empty: the examples of the project, or nothing in a
   * store that is there already.
   */
  readonly files: readonly string[]
  readonly deletions: readonly Meta.ObjectRef[]
  readonly format: Format
  /** Print the long form: maps, events and further tables. */
  readonly isVerbose: boolean
  /** Print every row of long tables. */
  readonly all: boolean
  /** Show progress also where standard error is no terminal. */
  readonly progress: boolean
}

export type ScenarioName =
  | 'in-cluster'
  | 'blocks'
  | 'node-ipam'
  | 'floating-ip'
  | 'whereabouts'
  | 'persistent-ip'
  | 'services'
  | 'network-view'
  | 'own-provider'

export type Format = 'table' | 'json' | 'yaml'

export type Parsed =
  | { readonly kind: 'run'; readonly options: Options }
  | { readonly kind: 'help' }
  | { readonly kind: 'mistake'; readonly message: string }

export const usage =
  'Usage: npm run demo -- [--scenario NAME] [-f FILE|DIR|-]... [--delete KIND/[NAMESPACE/]NAME]... [--store STORE]\n' +
  '                       [-o table|json|yaml] [-v] [--all] [--progress] [-h]\n'

export const help = `${usage}
Shows what this library does, on a store, and whether it came out right. Without --store nothing outside this process is
touched.

      --scenario NAME         in-cluster (default), blocks, node-ipam, floating-ip,
                              whereabouts, persistent-ip, services, network-view or
                              own-provider, see below.
  -f, --filename FILE|DIR|-   Manifests: a YAML or JSON file, the *.yaml, *.yml and *.json of a folder (sorted, not
                              recursive), or standard input. Repeatable. Default: the examples of the project, with
                              a deletion that lets a pool that ran dry recover.
      --delete KIND/NAME      Delete an object when the first run is quiet, then run again. KIND is a kind or its
                              plural, in any case; NAME is NAMESPACE/NAME outside the namespace default.
                              Repeatable, done in order.
      --store STORE           Where the objects are kept, see below. Default: memory.
  -o, --output FORMAT         table (default), json or yaml. The last two write one document to standard output, and
                              everything else to standard error.
  -v, --verbose               Print the long form, with maps, events, all checks and further tables. Default: the main
                              table of each step, or the first 10 rows of each table.
      --all                   Print all rows. Default: the first 10 of each table, with -v the first 50.
      --progress              Show progress even if standard error is no terminal.
  -h, --help                  This text.

Scenarios
  in-cluster                  Loads Kubernetes manifests into the store, runs the in-cluster IPAM provider on it until
                              nothing is left to do, and shows what every claim got and how the pools are filled. The
                              document has the fields claims, pools, refused and summary.
  blocks                      Three writers give addresses of both families at once, of two pools that overlap and of
                              one in another domain with the same addresses, and none knows of the others. Each Pod is
                              made anew while they do, so addresses are given back as well. Then the operator counts,
                              and everything is checked: also that all of it once more has nothing to write. It takes
                              no manifests. The document has the fields writers, owners, blocks, pools and checks.
  node-ipam                   Nodes join and get subnets for their Pods from a range until it is full. A second range is
                              added. The first is deleted while Nodes come and go, and stays until the last Node with
                              a subnet of it has left. After each step it shows what each Node has, a map, and the view
                              of the network. In memory only, as Nodes belong to their cluster. It takes no manifests.
                              The document has the fields steps and checks.
  floating-ip                 Machines of OpenStack come and go, and get floating IPs of a pool. The pool runs dry, a
                              preallocated floating IP is deleted and made again, and the controller crashes in the
                              call that creates an address. After each step it shows machines, the pool and what the
                              cloud has. The cloud is a fake one in memory, and so is the store. It takes no manifests.
                              The document has the fields steps and checks.
  whereabouts                 The plugins of 4 Nodes give addresses of one range at once. Two calls crash between row
                              and reservation, and a Pod is deleted without a DEL. The sweep frees the leftovers.
                              An upgrade to blocks finds another writer, is rolled back, and then goes through.
                              After each step it shows the row and the reservation of each address. In memory only, as
                              Pods belong to their cluster. It takes no manifests. The document has the fields steps,
                              writers and checks.
  persistent-ip               The life of a virtual machine whose address stays with it: it is started, stopped,
                              migrated and deleted. Claims hold the addresses, a webhook names them in Pods, and Pods
                              of other workloads are refused. After each step it shows claims, Pods and a map of the
                              network. In memory only, as Pods belong to their cluster. It takes no manifests. The
                              document has the fields steps and checks.
  services                    Services get cluster IPs of a ServiceCIDR until it is full. A larger one is added, and the
                              first one is deleted. IPAddresses that are missing or not needed are repaired. After each
                              step it shows Services and their IPAddresses. In memory only, as Services belong to their
                              cluster. It takes no manifests. The document has the fields steps and checks.
  network-view                The ranges of Pods are published before their first use and until their last: one is
                              proposed, accepted, used and deleted. After each step it shows the published ranges. In
                              memory only, as Nodes belong to their cluster. It takes no manifests. The document has the
                              fields steps and checks.
  own-provider                A provider of three functions serves claims from an IPAM product, which fails. Claims
                              wait, and are bound when it answers; a released address is given again. After each step
                              it shows the claims. The product is a fake one in memory, and so is the store. It takes
                              no manifests. The document has the fields steps and checks.
In a store other than memory the document has the field store too.

Stores
  memory                      This process. Nothing is kept.
  pglite:DIR                  PostgreSQL inside this process, with its data in a folder. One process at a time.
  sqlite:FILE                 SQLite: that of Node 22.13 and later, or the package better-sqlite3.
  postgres:URL                PostgreSQL, by the package pg: postgres://USER@HOST:PORT/DATABASE. What is not in the URL
                              comes from PGPASSWORD and the like; a command line can be read by others.
  redis:URL                   Redis, by the package ioredis or redis: redis://HOST:PORT.
  etcd:URL                    etcd: http://HOST:PORT, several with commas between them.
  kubernetes[:CONTEXT]        The cluster of the kubeconfig (KUBECONFIG, or ~/.kube/config), by the package
                              @kubernetes/client-node. The kinds below have to be installed there. One provider to a
                              pool: stop others first. They see every claim of the cluster, and so does this program.
                              Of blocks the operator looks after every pool of the cluster; others may do so as well.
What is in a store stays there: a second run finds what the first has done, and writes only what differs. Manifests are
applied: an object is created, or its spec, labels and annotations are changed if they differ; its status is never
touched. The examples are applied without their deletion; to kubernetes, and with --delete, only what -f names. The
names of all that the scenario of blocks leaves begin with demo.

Kinds of in-cluster
  ${models.map((model) => model.info.kind).join('\n  ')}
Others are listed and skipped. Lists, as kubectl get -o yaml writes them, are taken item by item; uid, status and other
fields of a server are dropped. Objects without a namespace go to the namespace default.

Kinds of blocks
  ${blocksKinds.map(({ kind }) => kind).join('\n  ')}

Admission
Before each creation, change and deletion, whatever the store, the demo asks the admission rule of the kind, as an API
server asks its webhooks: for what you load and delete, and for what its components write. A refusal has the words of
an API server, such as: admission webhook "validation.ipaddressclaim.ipam.cluster.x-k8s.io" denied the request: ...
What is admitted with a doubt, such as an unknown field, is told as "Warning: ...".

Claims are served in the order in which they were read. Time is virtual: it begins at a fixed date, every object is
created a second after the one before, and a grace period of an address is waited for by moving the clock. So the same
input gives the same output. In a store other than memory time is real: claims that are created in the same second are
served by name, what waits for the end of a grace period gets its address in a later run, and who of three writers is
first is left to chance.

Exit status
  0   every claim is bound. Claims for pools of other providers are not ours and do not count
  1   a claim is not bound; or the store cannot be reached
  2   wrong usage, or a store whose package is not installed; or something was refused, unreadable or, for --delete,
      not found. All the rest was done
Without -f and --delete some of this is meant to happen: the status is 0 if the examples came to the end that is
expected of them, and 1 if not. Of other scenarios it is 0 if every check holds, and 1 if one does not.
`

const scenarios: readonly string[] = [
  'in-cluster',
  'blocks',
  'node-ipam',
  'floating-ip',
  'whereabouts',
  'persistent-ip',
  'services',
  'network-view',
  'own-provider',
] satisfies readonly ScenarioName[]
/** Those that take no other store, and what they do. */
const IN_MEMORY: { readonly [S in ScenarioName]?: string } = {
  'node-ipam': 'it makes and deletes Nodes',
  'floating-ip': 'its cloud is a fake one',
  whereabouts: 'it makes and deletes Pods',
  'persistent-ip': 'it makes and deletes Pods',
  services: 'it makes and deletes Services',
  'network-view': 'it makes and deletes Nodes',
  'own-provider': 'its IPAM product is a fake one',
}
const formats: readonly string[] = ['table', 'json', 'yaml'] satisfies readonly Format[]

export function parseOptions(args: readonly string[]): Parsed {
  const read = readArguments(args)
  if (typeof read === 'string') return mistake(read)
  if (read.help) return { kind: 'help' }

  const { scenario, filename: files, output: format, all, progress, verbose: isVerbose } = read
  if (!isScenario(scenario)) return mistake(`--scenario takes ${scenarios.join(', ')}, not ${JSON.stringify(scenario)}`)
  if (scenario !== 'in-cluster' && files.length + read.delete.length > 0) {
    return mistake(`-f and --delete are for manifests: --scenario ${scenario} takes none`)
  }
  const inMemory = IN_MEMORY[scenario]
  if (inMemory !== undefined && read.store !== 'memory') {
    return mistake(`--scenario ${scenario} takes no --store: ${inMemory}, in memory only`)
  }
  const store = parseStoreAddress(read.store)
  if ('problem' in store) return mistake(`--store takes ${storeForms}: ${store.problem}`)
  if (files.some((file) => file === '')) return mistake('-f needs the name of a file or folder')
  if (files.filter((file) => file === '-').length > 1) return mistake('standard input can be read only once')
  if (!isFormat(format)) return mistake(`-o takes ${formats.join(', ')}, not ${JSON.stringify(format)}`)
  const deletions: Meta.ObjectRef[] = []
  for (const text of read.delete) {
    const target = parseTarget(text)
    if (typeof target === 'string') return mistake(`--delete ${text}: ${target}`)
    deletions.push(target)
  }
  return {
    kind: 'run',
    options: { scenario, store: store.address, files, deletions, format, all, progress, isVerbose },
  }
}

export const FLAGS = {
  scenario: { type: 'string', default: 'in-cluster', about: 'the system that is shown' },
  filename: {
    type: 'string',
    short: 'f',
    multiple: true,
    default: [],
    about: 'manifests: a file, a folder, or `-` for standard input. Repeatable. Left out: the examples of the project',
  },
  delete: {
    type: 'string',
    multiple: true,
    default: [],
    about: 'deletes `KIND/[NAMESPACE/]NAME` when the first run is quiet, then runs again. Repeatable',
  },
  store: { type: 'string', default: 'memory', about: 'where the objects are kept' },
  output: { type: 'string', short: 'o', default: 'table', about: '`table`, `json` or `yaml`' },
  verbose: {
    type: 'boolean',
    short: 'v',
    default: false,
    about: 'prints the long form, with maps, events, all checks and further tables',
  },
  all: {
    type: 'boolean',
    default: false,
    about: 'prints all rows. Off: the first 10 of each table, and 50 with `-v`',
  },
  progress: { type: 'boolean', default: false, about: 'shows progress also if standard error is no terminal' },
  help: { type: 'boolean', short: 'h', default: false, about: 'prints all options, scenarios and stores' },
} satisfies FlagOptions

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: FLAGS,
    }).values
  } catch (error) {
    // the first sentence says what; the rest is about `--` and positional arguments, which do not
    // exist here
    return withoutSecrets(String((error as Error).message)).split(/[.\n]/, 1)[0] as string
  }
}

/** The object that `KIND/NAME` or `KIND/NAMESPACE/NAME` means, or what is wrong with the text. */
function parseTarget(text: string): Meta.ObjectRef | string {
  const parts = text.split('/')
  const [kind = '', ...path] = parts
  if (parts.length > 3 || path.length === 0 || parts.includes('')) return 'write KIND/NAME or KIND/NAMESPACE/NAME'
  const info = modelNamed(kind)?.info
  if (info === undefined) return `no such kind; there are ${models.map((model) => model.info.kind).join(', ')}`
  const name = path.at(-1) as string
  const ref = { apiVersion: info.apiVersion, kind: info.kind, name }
  if (!info.namespaced) return path.length === 1 ? ref : `${info.kind} is cluster-scoped, write KIND/NAME`
  return { ...ref, namespace: path.length === 1 ? 'default' : (path[0] as string) }
}

function isScenario(text: string): text is ScenarioName {
  return scenarios.includes(text)
}

function isFormat(text: string): text is Format {
  return formats.includes(text)
}

function mistake(message: string): Parsed {
  return { kind: 'mistake', message }
}
