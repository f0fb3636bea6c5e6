import { readFileSync } from 'node:fs'
import { FLAG_TEXTS } from '../docs/examples/cni-plugin/flag-texts.js'
import { INSTALL_FLAGS } from '../docs/examples/cni-plugin/install-flags.js'
import { FLAGS as CNI_FLAGS } from '../docs/examples/cni-plugin/program.js'
import { FLAGS as DEMO_FLAGS } from '../docs/examples/demo/options.js'
import { FLAGS as FLOATING_FLAGS } from '../docs/examples/floating-ip-controller/flags.js'
import { FLAGS as IN_CLUSTER_FLAGS } from '../docs/examples/in-cluster-controller/flags.js'
import { FLAGS as NODE_FLAGS } from '../docs/examples/node-ipam-controller/flags.js'
import { ADDRESS_FLAGS, CLAIM_FLAGS } from '../docs/examples/persistent-ip/flags.js'
import { COMMON_FLAGS, type FlagOptions } from '../docs/examples/program/flags.js'
import { FLAGS as ADMIN_FLAGS, COMMANDS } from '../docs/examples/whereabouts-admin/admin.js'
import { FLAGS as WHEREABOUTS_FLAGS } from '../docs/examples/whereabouts-controller/flags.js'
import type { Metric } from '../src/render/index.js'
import { type Kinds, outcomeTables, problemKinds } from './program-outcomes.js'
import { REASONS, type ReasonTable } from './program-reasons.js'
import { controllerMetrics, floatingIPMetrics, nodeIPAMMetrics, persistentIPMetrics } from './program-samples.js'

/** Flags under one heading. */
interface FlagSection {
  readonly title: string
  /** The file of the program, in docs/examples. */
  readonly file: string
  readonly flags: FlagOptions
  /** Left out: it is no controller, and has no Lease. */
  readonly lease?: string
}

/** The example programs. The Lease of a controller has the name in its main.ts. */
export const PROGRAMS: readonly FlagSection[] = [
  controller('In-cluster controller', 'in-cluster-controller/main.ts', IN_CLUSTER_FLAGS),
  controller('Floating IP controller', 'floating-ip-controller/main.ts', FLOATING_FLAGS),
  controller('Node IPAM controller', 'node-ipam-controller/main.ts', NODE_FLAGS),
  controller('Whereabouts controller', 'whereabouts-controller/main.ts', WHEREABOUTS_FLAGS),
  controller('Persistent IPs: claims', 'persistent-ip/claims.ts', CLAIM_FLAGS),
  controller('Persistent IPs: addresses', 'persistent-ip/addresses.ts', ADDRESS_FLAGS),
  { title: 'CNI plugin', file: 'cni-plugin/main.ts', flags: pluginFlags() },
  { title: 'CNI plugin: installer', file: 'cni-plugin/install.ts', flags: INSTALL_FLAGS },
  { title: 'whereabouts-admin', file: 'whereabouts-admin/main.ts', flags: ADMIN_FLAGS },
  ...Object.entries(COMMANDS).map(([name, { flags }]) => ({
    ...{ title: `whereabouts-admin ${name}`, file: 'whereabouts-admin/main.ts', flags },
  })),
  { title: 'Demo', file: 'demo/main.ts', flags: DEMO_FLAGS },
]

function pluginFlags(): FlagOptions {
  const names = Object.keys(CNI_FLAGS) as (keyof typeof CNI_FLAGS)[]
  return Object.fromEntries(names.map((name) => [name, { ...CNI_FLAGS[name], about: FLAG_TEXTS[name] }]))
}

function controller(title: string, file: string, flags: FlagOptions): FlagSection {
  const source = readFileSync(new URL(`../docs/examples/${file}`, import.meta.url), 'utf8')
  const lease = /runProgram\(\{\s+name: '([^']+)'/.exec(source)?.[1]
  if (lease === undefined) throw new Error(`docs/examples/${file} gives runProgram no name`)
  return { title, file, flags, lease }
}

/** The page docs/reference/programs.md: flags, metrics, outcomes, and reasons of Events and conditions. */
export async function renderProgramsDoc(): Promise<string> {
  return [
    '# Flags, metrics and Events of the programs',
    '',
    'Made from the code by `npm run docs:programs`. The programs are examples of the package, in `docs/examples`.',
    '',
    '## Flags',
    '',
    'A flag that is on or off is `--flag` or `--no-flag`, or `--flag=true` or `--flag=false`. Wrong flags end a program with one line and status 2.',
    '',
    '### Each controller',
    '',
    'A program reads `KUBECONFIG`, else `~/.kube/config`, else the service account of its Pod.',
    '',
    ...flagTable(COMMON_FLAGS),
    '',
    ...PROGRAMS.flatMap(flagSection),
    ...(await metricSections()),
    ...outcomeSections(),
    ...reasonSections(),
  ].join('\n')
}

function flagSection({ title, file, flags, lease }: FlagSection): readonly string[] {
  const link = `[docs/examples/${file}](../examples/${file})`
  const also = lease === undefined ? '.' : `. Its Lease and the source of its Events is \`${lease}\`.`
  return [`### ${title}`, '', `${link}${also}`, '', ...flagTable(flags), '']
}

function flagTable(flags: FlagOptions): readonly string[] {
  const rows = Object.entries(flags).map(([name, { type, default: value, short, about }]) => {
    const shown = short === undefined ? `\`--${name}\`` : `\`-${short}\`, \`--${name}\``
    const unset = type === 'boolean' ? 'off' : 'none'
    const text = value === true ? 'on' : value === undefined || value === false ? unset : String(value)
    return `| ${shown} | ${text === '' ? 'none' : text} | ${about} |`
  })
  return ['| flag | default | what |', '|---|---|---|', ...rows]
}

async function metricSections(): Promise<readonly string[]> {
  const own = nodeIPAMMetrics()
  const names = new Set(own.map(({ name }) => name))
  const parity = (...flags: readonly string[]) => nodeIPAMMetrics(...flags).filter(({ name }) => !names.has(name))
  const sections: readonly (readonly [title: string, metrics: readonly Metric[]])[] = [
    ['Each controller', controllerMetrics()],
    ['Floating IP controller', await floatingIPMetrics()],
    ['Node IPAM controller', own],
    ['Node IPAM controller with `--order upstream`', parity('--order', 'upstream')],
    ['Node IPAM controller with `--ranges flags`', parity('--ranges', 'flags', '--cluster-cidr', '10.0.0.0/16')],
    ['Persistent IPs', persistentIPMetrics()],
  ]
  return [
    '## Metrics',
    '',
    '`ControllerMetrics` and `poolMetrics` of `ipam-kit/render` give those of each controller; the programs add the others. A process that does not lead reports no queues and no pools.',
    '',
    ...sections.flatMap(([title, metrics]) => [`### Metrics: ${title}`, '', ...metricTable(metrics), '']),
  ]
}

function metricTable(metrics: readonly Metric[]): readonly string[] {
  const rows = metrics.map(({ name, type, help, samples }) => {
    const labels = Object.keys(samples[0]?.labels ?? {}).map((label) => `\`${label}\``)
    return `| \`${name}\` | ${type} | ${labels.join(', ')} | ${help} |`
  })
  return ['| metric | type | labels | what |', '|---|---|---|---|', ...rows]
}

function outcomeSections(): readonly string[] {
  return [
    '## Values of labels',
    '',
    '`outcome` of `ipam_plans_total` is the kind of the outcome of a plan, or `gone` for an object that does not exist any more.',
    'The gauges by `outcome` count objects by the same kinds. Any object that cannot be parsed is `unreadable`.',
    '',
    ...outcomeTables().flatMap(({ title, kinds }) => [
      `### Outcomes: ${title}`,
      '',
      ...kindTable('outcome', kinds),
      '',
    ]),
    '### Problems',
    '',
    '`kind` of `ipam_problems_total`:',
    '',
    ...kindTable('kind', problemKinds()),
    '',
  ]
}

function kindTable(head: string, kinds: Kinds): readonly string[] {
  const rows = [...kinds].map(([kind, meaning]) => `| \`${kind}\` | ${meaning} |`)
  return [`| ${head} | what |`, '|---|---|', ...rows]
}

function reasonSections(): readonly string[] {
  return [
    '## Reasons of Events and conditions',
    '',
    'An Event is a Warning if the table says nothing else. One is sent for each cause, not for each plan. A condition is False if the table says nothing else.',
    '',
    ...REASONS.flatMap(reasonSection),
  ]
}

function reasonSection({ title, rows }: ReasonTable): readonly string[] {
  return [
    `### Reasons: ${title}`,
    '',
    '| reason | about | on | what it means | what to do |',
    '|---|---|---|---|---|',
    ...rows.map(
      ({ reason, about, on, meaning, action = '' }) => `| \`${reason}\` | ${about} | ${on} | ${meaning} | ${action} |`,
    ),
    '',
  ]
}
