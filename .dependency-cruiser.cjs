/** Who may import whom, from the rows of layers.json: arrows point down only. What is not in the list of a folder is an error. */
const rows = require('./layers.json')

/** The files of a row: `*.ts` are those of a folder itself, any other name is a folder with all in it. */
const filesOf = ({ folder }) => (folder.endsWith('*.ts') ? `^src/${folder.slice(0, -4)}[^/]+\\.ts$` : `^src/${folder}/`)

/** What others may import of a row. */
const doorsOf = (row) => (row.doors ? `${filesOf(row)}(${row.doors.join('|')})\\.ts$` : filesOf(row))

/** A folder may import itself and the rows of its list, of everything under src/. */
const layer = (row) => {
  // the row of several folders says it once for each: `$1` is the folder that imports
  const itself = filesOf(row).replace(/\(.*\)/, '$1')
  const may = rows.filter(({ folder }) => row.may === '*' || row.may.includes(folder))
  return {
    name: `layer-${row.folder
      .replace(/\/\(.*/, '-adapter')
      .replace('*.ts', 'files')
      .replaceAll('/', '-')}`,
    comment: `${row.folder} imports ${row.may === '*' ? 'all' : row.may.join(', ') || 'nothing'}: layers.json.`,
    severity: 'error',
    from: { path: filesOf(row) },
    to: { path: '^src/', pathNot: [itself, ...may.filter((other) => other !== row).map(doorsOf)] },
  }
}

/** `from` may import `path` for its types only. */
const typesOnly = (name, from, path, pathNot) => ({
  name: `types-only-${name}`,
  comment: 'Write `import type`: this layer may know the shape, and must not run the code.',
  severity: 'error',
  from: { path: from },
  to: { path, ...(pathNot ? { pathNot } : {}), dependencyTypesNot: ['type-only'] },
})

/** Only files matching `from` may import the package `name`. */
const packageOnlyFrom = (name, from) => ({
  name: `package-${name}`,
  comment: `In src/, ${name} may be imported from ${from} only.`,
  severity: 'error',
  from: { path: '^src/', pathNot: from },
  to: { path: [`(^|/)node_modules/${name}/`, `^${name}(/|$)`] },
})

module.exports = {
  forbidden: [
    ...rows.map(layer),
    {
      name: 'layer-known',
      comment: 'Every folder of src/ has a row in layers.json. A new one needs one, and `npm run docs:layers`.',
      severity: 'error',
      from: { path: '^src/', pathNot: rows.map(filesOf) },
      to: {},
    },
    {
      name: 'cidr-forms',
      comment: 'cidr/forms brings ip-address with it: it is an entry of its own, and nothing else in src/ imports it.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cidr/forms/' },
      to: { path: '^src/cidr/forms/' },
    },

    {
      name: 'node-entry',
      comment:
        'src/node reads the clock and the randomness of the platform: an entry for programs. src/ takes them as arguments.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/node/' },
      to: { path: '^src/node/' },
    },
    {
      name: 'root-stores',
      comment: 'The root entry has one store, that of tests and first programs.',
      severity: 'error',
      from: { path: '^src/[^/]+\\.ts$' },
      to: { path: '^src/store/', pathNot: '^src/store/(memory/|index\\.ts$)' },
    },

    typesOnly('render-run', '^src/render/', '^src/run/'),
    typesOnly('node-run', '^src/node/', '^src/run/'),
    typesOnly('root-plan-crd', '^src/[^/]+\\.ts$', '^src/(plan|crd)/'),
    // a planner makes its ledgers itself: one that holds nothing is without their code
    typesOnly('plan-allocator', '^src/plan/', '^src/allocator/'),
    typesOnly('openstack-allocator', '^src/provider/openstack/', '^src/allocator/'),
    typesOnly('webhook-store', '^src/provider/webhook/', '^src/store/'),
    typesOnly('in-cluster-cluster-api', '^src/crd/in-cluster/', '^src/crd/cluster-api/'),
    // these are the vocabulary of Kubernetes objects, without a schema: references, patches, valid names and errors of fields
    typesOnly('plan-crd', '^src/plan/', '^src/crd/', '^src/crd/meta/(object|patch)\\.ts$'),
    typesOnly(
      'store-run-render-meta',
      '^src/(store|run|render)/',
      '^src/crd/meta/',
      '^src/crd/meta/(object|patch|names|field-error)\\.ts$',
    ),

    // answers of OpenStack are read as objects are
    packageOnlyFrom('zod', '^src/(crd|provider/openstack/neutron)/'),
    packageOnlyFrom('ip-address', '^src/cidr/forms/ip-address\\.ts$'),
    packageOnlyFrom('fast-check', '^src/testing/arbitraries/'),
    {
      name: 'testing-without-fast-check',
      comment: 'The suites load without fast-check, which only ipam-kit/testing/arbitraries needs.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/testing/arbitraries/' },
      to: { path: '^src/testing/arbitraries/' },
    },
    {
      name: 'package-other',
      comment:
        'src/ runs on zod, ip-address and, in testing, the optional peer fast-check. Anything else needs a decision record.',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-bundled', 'npm-no-pkg', 'npm-unknown'],
        pathNot: '(^|/)node_modules/(zod|ip-address|fast-check)/',
      },
    },
    {
      name: 'package-dev',
      comment: 'What src/ imports must be installed with the package.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm', 'npm-peer', 'type-only'] },
    },

    {
      name: 'no-node-core',
      comment: 'No I/O in src/: nothing of Node, not even a type.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'no-cycles',
      comment: 'No cycle, not even of types: types that two files need have a file of their own.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A file of src/ that nothing imports and that is no entry is dead.',
      severity: 'error',
      from: { path: '^src/', pathNot: '(^|/)index\\.ts$', orphan: true },
      to: {},
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'src-stands-alone',
      comment: 'src/ imports nothing of this repository but src/.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|docs|scripts)/' },
    },
    {
      name: 'public-api-only',
      comment: 'Examples and acceptance adapters see what a user sees: `ipam-kit` and its entries.',
      severity: 'error',
      from: { path: '^(docs/examples|test/acceptance)/' },
      to: { path: '^src/', pathNot: '(^|/)index\\.ts$' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage|test/real)/' },
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'default', 'node'],
      extensions: ['.ts', '.mts', '.d.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
}
